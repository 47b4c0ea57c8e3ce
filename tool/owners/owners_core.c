// SPDX-License-Identifier: MIT
/* Finds the owners of pinned memory in the core's lists of accounts and regions. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "accounts.h"
#include "tool/util/grow.h"
#include "owners.h"
#include "tool/util/printable.h"

/* The columns of a region, in this order; newer modules may append columns. */
static const char head[] = "pid provider flags state addr length since_ms extents devices id";
enum column { PID, PROVIDER, FLAGS, STATE, ADDR, LENGTH, SINCE_MS, EXTENTS, DEVICES, ID, NR_COLUMNS };

static int by_pid(const void *a, const void *b)
{
	const struct owner *x = a, *y = b;

	return (x->owner > y->owner) - (x->owner < y->owner);
}

void owners_parse_accounts(FILE *f, struct owners *out)
{
	struct accounts accounts;
	size_t i;

	*out = (struct owners){ .told_by_core = true };
	accounts_parse(f, &accounts);
	for (i = 0; i < accounts.count; i++) {
		const struct account *a = &accounts.at[i];

		out->at = grow(out->at, out->count, sizeof(*out->at));
		out->at[out->count++] = (struct owner){
			.pid = a->pid, .fd = -1, .owner = a->pid, .bytes = a->bytes, .count = a->regions,
			.pins = a->pins, .revoked = a->revoked,
		};
	}
	accounts_free(&accounts);
	if (out->count)
		qsort(out->at, out->count, sizeof(*out->at), by_pid);
}

/* Splits a line into columns. False: the line has too few columns. */
static bool split(char *line, char *column[NR_COLUMNS])
{
	int i;

	line[strcspn(line, "\n")] = '\0';
	for (i = 0; i < NR_COLUMNS; i++) {
		column[i] = strsep(&line, " ");
		if (!column[i])
			return false;
	}
	return true;
}

static void copy(char *out, size_t room, const char *text)
{
	snprintf(out, room, "%s", text);
	make_printable(out);
}

static struct owned_region region_of(char *column[NR_COLUMNS])
{
	struct owned_region r = {
		.id = strcmp(column[ID], "-") ? strtoll(column[ID], NULL, 10) : -1,
		.addr = strtoull(column[ADDR], NULL, 16),
		.length = strtoull(column[LENGTH], NULL, 10),
		.age_ms = strtoull(column[SINCE_MS], NULL, 10),
		.extents = (unsigned int)strtoul(column[EXTENTS], NULL, 10),
	};

	copy(r.provider, sizeof(r.provider), column[PROVIDER]);
	copy(r.state, sizeof(r.state), column[STATE]);
	copy(r.devices, sizeof(r.devices), column[DEVICES]);
	return r;
}

/* Adds a region to its owner. Skips the region if its owner is not in @out: a process that opened the file just now. */
static void add(struct owners *out, char *column[NR_COLUMNS])
{
	struct owner key = { .owner = atoi(column[PID]) }, *o = NULL;

	if (out->count)
		o = bsearch(&key, out->at, out->count, sizeof(key), by_pid);
	if (!o)
		return;
	o->regions = grow(o->regions, o->nr_regions, sizeof(*o->regions));
	o->regions[o->nr_regions++] = region_of(column);
}

void owners_parse_regions(FILE *f, struct owners *out)
{
	char *column[NR_COLUMNS], *line = NULL;
	size_t room = 0;

	/* if the first line differs, an older module has other columns: skip its regions */
	if (getline(&line, &room, f) > 0 && !strncmp(line, head, strlen(head)))
		while (getline(&line, &room, f) > 0)
			if (split(line, column))
				add(out, column);
	free(line);
}

static void name_all(struct owners *out)
{
	size_t i;

	for (i = 0; i < out->count; i++)
		owner_command(out->at[i].owner, out->at[i].command, sizeof(out->at[i].command));
}

int owners_by_core(enum owners_detail detail, struct owners *out)
{
	FILE *accounts = core_file("accounts"), *regions;

	if (!accounts)
		return -errno;
	owners_parse_accounts(accounts, out);
	fclose(accounts);
	name_all(out);
	regions = detail == OWNERS_REGIONS ? core_file("regions") : NULL;
	if (!regions)
		return 0;
	owners_parse_regions(regions, out);
	fclose(regions);
	return 0;
}
