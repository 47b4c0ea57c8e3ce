// SPDX-License-Identifier: MIT
/*
 * Foreign text that the tool or the judge parses: lists of the kernel, plans, kernel messages, and
 * published counts of a process. The first byte selects the parser.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "emu/judge/guest/plan.h"
#include "emu/judge/log/splat.h"
#include "emu/judge/log/violations.h"
#include "tool/owners/accounts.h"
#include "tool/owners/cache_counts.h"
#include "libpeerpin.h"
#include "output.h"
#include "tool/owners/owners.h"
#include "target.h"
#include "tool/tool.h"
#include "tool/util/units.h"
#include "valid.h"

const unsigned int target_forms = 1;
static const char *text, *behind;	/* @text: the input; @behind: the input after a form feed, or NULL */

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	return 0;
}

static FILE *open_text(const char *from)
{
	FILE *file = fmemopen((char *)from, strlen(from), "r");

	return file ? file : fopen("/dev/null", "re");	/* fmemopen() fails for an empty text */
}

static void each_line(void (*look)(const char *line))
{
	char *copy = strdup(text), *rest = copy, *line;

	while ((line = strsep(&rest, "\n"))) {
		char *one = strdup(line);	/* own allocation, so that sanitizers see reads beyond the line */

		look(one);
		free(one);
	}
	free(copy);
}

/* ---- the judge --------------------------------------------------------------------- */

static void look_at_plan(const char *line)
{
	struct scenario s;
	char why[PLAN_WHY_MAX] = "";
	int ret = plan_parse(line, &s, why);

	must(ret >= 0 || *why, "a bad line has its reason", line);
	must(ret || (*s.id && s.copies >= 1 && s.copies <= PLAN_COPIES_MAX && s.nr_env <= PLAN_ENV_MAX &&
		     s.guard_ms != UINT32_MAX && (!s.fail || s.fail_nth)), "a scenario is whole", line);
}

static void look_at_violation(const char *line)
{
	struct violation v;

	must(!violation_parse(line, &v) || !strchr(v.rule, ' '), "a rule is a word", line);
}

static struct splat splat;

static void look_at_splat(const char *line)
{
	struct splat ended;

	if (splat_feed(&splat, line, &ended))
		must(ended.rule && *ended.rule, "a splat has a rule", line);
}

static void read_plan(void)
{
	each_line(look_at_plan);
}

static void read_violations(void)
{
	each_line(look_at_violation);
}

static void read_splats(void)
{
	struct splat last;

	splat = (struct splat){ 0 };
	each_line(look_at_splat);
	splat_end(&splat, &last);
}

/* ---- the core's lists, as bar shows them ------------------------------------------- */

int __wrap_pp_bar1(unsigned int index, struct pp_bar1 *out);
int __wrap_owners_find(enum owners_detail detail, struct owners *out);

/*
 * One GPU; the first line of the text is its name. From the second input on, bar has seen GPU 0 and
 * asks for GPU 1.
 */
int __wrap_pp_bar1(unsigned int index, struct pp_bar1 *out)
{
	struct pp_bar1 *gpu = out - index;

	*gpu = (struct pp_bar1){ .total = 256 << 20, .used = 1 << 20, .free = 255 << 20 };
	snprintf(gpu->name, sizeof(gpu->name), "%.*s", (int)strcspn(text, "\n"), text);
	return index ? -ENODEV : 0;
}

int __wrap_owners_find(enum owners_detail detail, struct owners *out)
{
	FILE *accounts = open_text(text), *regions = open_text(behind ? behind : "");
	size_t i;

	(void)detail;
	owners_parse_accounts(accounts, out);
	owners_parse_regions(regions, out);
	for (i = 0; i < out->count; i++)
		snprintf(out->at[i].command, sizeof(out->at[i].command), "a");
	fclose(accounts);
	fclose(regions);
	return 0;
}

static void bar(const char *form)
{
	char *argv[] = { "bar", (char *)form, NULL };
	struct output out;

	output_begin(&out, &stdout);
	must(bar_command.run(form ? 2 : 1, argv) == EXIT_OK, "bar shows something", text);
	output_end(&out);
	if (form)
		must_be_json(out.text, out.size);
	free(out.text);
}

static void read_owners(void)
{
	bar(NULL);
	bar("--json");
}

static void read_fdinfo(void)
{
	FILE *file = open_text(text);
	struct owner owner;

	if (owner_parse(file, OWNERS_REGIONS, &owner))
		owner_free(&owner);
	fclose(file);
}

static void read_peers(void)
{
	FILE *file = open_text(text);
	struct peer_list peers;

	peers_parse(file, &peers);
	peers_free(&peers);
	fclose(file);
}

/* ---- other parsers ------------------------------------------------------------------ */

static void look_at_number(const char *line)
{
	uint64_t number = 1, size = 1;
	int is_size = !parse_size(line, &size);

	must(parse_number(line, &number) || (is_size && number == size), "a number is a size", line);
	text_bytes(size);
	text_time(size);
	text_rate(size, number);
}

static void read_numbers(void)
{
	each_line(look_at_number);
}

static void (*const readers[])(void) = {
	read_plan, read_violations, read_splats, read_owners, read_fdinfo, read_peers, read_numbers,
};

/* Binary input: a file of published counts, possibly truncated. */
static void read_counts(const uint8_t *bytes, size_t size)
{
	int fd = memfd_create("counts", 0);
	struct cache_counts counts;
	uint32_t pid;

	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
		abort();
	cache_counts_parse(fd, &counts, &pid);
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	const size_t nr = sizeof(readers) / sizeof(*readers);
	char *copy, *rest;

	if (!size)
		return 0;
	if (bytes[0] % (nr + 1) == nr) {
		read_counts(bytes + 1, size - 1);
		return 0;
	}
	rest = copy = strndup((const char *)bytes + 1, size - 1);
	text = strsep(&rest, "\f");
	behind = rest;
	readers[bytes[0] % (nr + 1)]();
	free(copy);
	return 0;
}
