// SPDX-License-Identifier: MIT
#include <errno.h>
#include <inttypes.h>
#include <linux/kcmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "tool/util/grow.h"
#include "owners.h"
#include "tool/util/printable.h"

/* ---- one file ------------------------------------------------------------------ */

static void parse_region(const char *text, struct owner *o)
{
	struct owned_region r = { 0 };
	unsigned int id;

	if (sscanf(text, "%u %15s %" SCNx64 " %" SCNu64 " %15s %" SCNu64 " %u %255s",
		   &id, r.provider, &r.addr, &r.length, r.state, &r.age_ms,
		   &r.extents, r.devices) != 8)
		return;		/* the unknown format of a newer module */
	r.id = id;
	o->regions = grow(o->regions, o->nr_regions, sizeof(r));
	o->regions[o->nr_regions++] = r;
}

static void parse_sum(const char *name, const char *value, struct owner *o)
{
	uint64_t n = strtoull(value, NULL, 10);

	if (!strcmp(name, "owner"))
		o->owner = (pid_t)n;
	else if (!strcmp(name, "bytes"))
		o->bytes = n;
	else if (!strcmp(name, "regions"))
		o->count = n;
	else if (!strcmp(name, "pins"))
		o->pins = n;
	else if (!strcmp(name, "revoked"))
		o->revoked = n;
}

static void parse_line(char *line, enum owners_detail detail, struct owner *o)
{
	static const char prefix[] = "peerpin-";
	char *name = line + strlen(prefix), *value;

	if (strncmp(line, prefix, strlen(prefix)))
		return;
	if (!strncmp(name, "region:", 7)) {
		if (detail == OWNERS_REGIONS)
			parse_region(name + 7, o);
		return;
	}
	value = strchr(name, ':');
	if (!value)
		return;
	*value++ = '\0';
	parse_sum(name, value, o);
}

bool owner_parse(FILE *f, enum owners_detail detail, struct owner *out)
{
	char line[512];

	*out = (struct owner){ 0 };
	while (fgets(line, sizeof(line), f))
		parse_line(line, detail, out);
	if (out->owner)
		return true;
	owner_free(out);
	return false;
}

void owner_free(struct owner *o)
{
	free(o->regions);
	o->regions = NULL;
}

void owner_command(pid_t pid, char *out, size_t room)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	f = fopen(path, "re");
	if (!f || !fgets(out, (int)room, f))
		snprintf(out, room, "?");
	out[strcspn(out, "\n")] = '\0';
	make_printable(out);
	if (f)
		fclose(f);
}

/* ---- all files ----------------------------------------------------------------- */

/*
 * Are @a and @b one open file? After dup() or fork() an open file has several descriptors.
 * If kcmp() is compiled out or not permitted, entries with equal owner and bytes count as
 * one file.
 */
static bool same_file(const struct owner *a, const struct owner *b)
{
	long order;

	if (a->owner != b->owner)
		return false;
	order = syscall(SYS_kcmp, a->pid, b->pid, KCMP_FILE, a->fd, b->fd);
	return order < 0 ? a->bytes == b->bytes : order == 0;
}

static bool is_known(const struct owners *all, const struct owner *o)
{
	size_t i;

	for (i = 0; i < all->count; i++)
		if (same_file(&all->at[i], o))
			return true;
	return false;
}

static void add_new(struct owners *all, struct owner *o)
{
	if (is_known(all, o)) {
		owner_free(o);
		return;
	}
	owner_command(o->owner, o->command, sizeof(o->command));
	all->at = grow(all->at, all->count, sizeof(*o));
	all->at[all->count++] = *o;
}

static void look_at(const struct fd_at *at, enum owners_detail detail, struct owners *all)
{
	struct owner o;
	char path[64];
	bool ours;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", (int)at->pid, at->fd);
	f = fopen(path, "re");
	if (!f)
		return;		/* the process has closed the file meanwhile */
	ours = owner_parse(f, detail, &o);
	fclose(f);
	if (!ours)
		return;
	o.pid = at->pid;
	o.fd = at->fd;
	add_new(all, &o);
}

static int by_owner(const void *a, const void *b)
{
	const struct owner *x = a, *y = b;

	return (x->owner > y->owner) - (x->owner < y->owner);
}

void owners_by_fds(const struct fds *fds, enum owners_detail detail, struct owners *out)
{
	size_t i;

	*out = (struct owners){ .unreadable = fds->unreadable };
	for (i = 0; i < fds->count; i++)
		if (fds->at[i].kind == FD_PEERPIN)
			look_at(&fds->at[i], detail, out);
	if (out->count)
		qsort(out->at, out->count, sizeof(*out->at), by_owner);
}

int owners_find(enum owners_detail detail, struct owners *out)
{
	struct fds fds;
	int ret;

	if (!owners_by_core(detail, out))
		return 0;
	ret = fds_find(&fds);
	if (ret)
		return ret;
	owners_by_fds(&fds, detail, out);
	fds_free(&fds);
	return 0;
}

void owners_free(struct owners *o)
{
	while (o->count)
		owner_free(&o->at[--o->count]);
	free(o->at);
	o->at = NULL;
}
