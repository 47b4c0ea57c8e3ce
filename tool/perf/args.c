// SPDX-License-Identifier: MIT
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include "args.h"
#include "op.h"
#include "tool/tool.h"
#include "tool/util/args.h"
#include "tool/util/units.h"

enum {
	STEP = 4,
	DEFAULT_REPEAT = 1000,
	MAX_REPEAT = 1000000,
	DEFAULT_NOISE = 10,
};

enum {
	SIZES = 256,
	REPEAT,
	SECONDS,
	PASSES,
	ONLY,
	PEER,
	DIR,
	PORT,
	SERVE,
	ONCE,
	FULL,
	JSON,
	CSV,
	SVG,
	FROM,
	AGAINST,
	NOISE,
};

static const struct option options[] = {
	{ "sizes", required_argument, NULL, SIZES },
	{ "repeat", required_argument, NULL, REPEAT },
	{ "seconds", required_argument, NULL, SECONDS },
	{ "passes", required_argument, NULL, PASSES },
	{ "only", required_argument, NULL, ONLY },
	{ "peer", required_argument, NULL, PEER },
	{ "dir", required_argument, NULL, DIR },
	{ "port", required_argument, NULL, PORT },
	{ "serve", no_argument, NULL, SERVE },
	{ "once", no_argument, NULL, ONCE },
	{ "full", no_argument, NULL, FULL },
	{ "json", no_argument, NULL, JSON },
	{ "csv", no_argument, NULL, CSV },
	{ "svg", required_argument, NULL, SVG },
	{ "from", required_argument, NULL, FROM },
	{ "against", required_argument, NULL, AGAINST },
	{ "noise", required_argument, NULL, NOISE },
	{ 0 },
};

/* ---- sizes ------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static bool add_size(struct perf_args *out, uint64_t size)
{
	if (!size || out->nr_sizes == PERF_SIZES)
		return false;
	out->sizes[out->nr_sizes++] = size;
	return true;
}

static bool add_range(struct perf_args *out, uint64_t from, uint64_t to)
{
	for (; from < to; from *= STEP)
		if (!add_size(out, from) || from > UINT64_MAX / STEP)
			return false;
	return from && add_size(out, to);
}

static bool add_item(struct perf_args *out, char *item)
{
	char *dash = strchr(item, '-');
	uint64_t from, to;

	if (dash)
		*dash++ = '\0';
	if (parse_size(item, &from) || (dash && parse_size(dash, &to)))
		return false;
	return dash ? add_range(out, from, to) : add_size(out, from);
}

static void drop_twins(struct perf_args *out)
{
	size_t i, kept = 0;

	qsort(out->sizes, out->nr_sizes, sizeof(*out->sizes), by_size);
	for (i = 0; i < out->nr_sizes; i++)
		if (!i || out->sizes[i] != out->sizes[i - 1])
			out->sizes[kept++] = out->sizes[i];
	out->nr_sizes = kept;
}

bool parse_sizes(const char *text, struct perf_args *out)
{
	char *copy = strdup(text), *rest = copy, *item;
	bool ok = copy;

	out->nr_sizes = 0;
	while (ok && (item = strsep(&rest, ",")))
		ok = add_item(out, item);
	free(copy);
	if (ok)
		drop_twins(out);
	return ok;
}

/* ---- options ------------------------------------------------------------------------ */

static int parse_seconds(const char *text, double *out)
{
	char *end;

	*out = strtod(text, &end);
	if (end == text || *end || !(*out >= 0.001 && *out <= 3600))
		return usage_error("--seconds is a number from 0.001 to 3600, not %s", text);
	return 0;
}

static int parse_count(const char *name, const char *text, uint64_t least, uint64_t most, uint64_t *out)
{
	if (parse_number(text, out) || *out < least || *out > most)
		return usage_error("%s is a number from %llu to %llu, not %s", name, (unsigned long long)least,
				   (unsigned long long)most, text);
	return 0;
}

static int parse_only(const char *text, const char **out)
{
	char *copy = strdup(text), *rest = copy, *item;
	int ret = 0;

	while (copy && !ret && (item = strsep(&rest, ",")))
		if (!perf_is_group(item))
			ret = usage_error("there is no group %s; give some of: %s", item, perf_groups);
	free(copy);
	*out = text;
	return ret;
}

static int parse_text(int option, const char *text, struct perf_args *out)
{
	const char **const places[] = {
		[PEER - SIZES] = &out->peer, [DIR - SIZES] = &out->dir, [SVG - SIZES] = &out->svg,
		[FROM - SIZES] = &out->from, [AGAINST - SIZES] = &out->against,
	};

	if (!*text)
		return usage_error("an option has an empty value");
	*places[option - SIZES] = text;
	return 0;
}

static int set_format(enum perf_format format, struct perf_args *out)
{
	if (out->format != PERF_TEXT && out->format != format)
		return usage_error("give one of --full, --json and --csv");
	out->format = format;
	return 0;
}

static int parse_option(int option, struct perf_args *out)
{
	switch (option) {
	case SIZES:
		if (!parse_sizes(optarg, out))
			return usage_error("--sizes is a list such as 64,4K,1M, or a range such as 64-1G, not %s", optarg);
		return 0;
	case REPEAT:
		return parse_count("--repeat", optarg, 1, MAX_REPEAT, &out->repeat);
	case SECONDS:
		return parse_seconds(optarg, &out->seconds);
	case PASSES:
		return parse_count("--passes", optarg, 1, 100, &out->passes);
	case ONLY:
		return parse_only(optarg, &out->only);
	case PORT:
		return parse_count("--port", optarg, 1, UINT16_MAX - 1, &out->port);
	case NOISE:
		return parse_count("--noise", optarg, 0, 1000, &out->noise);
	case SERVE:
		out->serve = true;
		return 0;
	case ONCE:
		out->once = true;
		return 0;
	case FULL:
		return set_format(PERF_FULL, out);
	case JSON:
		return set_format(PERF_JSON, out);
	case CSV:
		return set_format(PERF_CSV, out);
	default:
		return parse_text(option, optarg, out);
	}
}

static int take_host(int argc, char **argv, struct perf_args *out)
{
	if (argc - optind > 1)
		return usage_error("%s does not know what to do with %s", argv[0], argv[optind + 1]);
	if (optind < argc)
		out->host = argv[optind];
	if (out->from && (out->host || out->serve))
		return usage_error("--from measures nothing, so leave out --serve and the name of a machine");
	if (out->once && !out->serve)
		return usage_error("--once needs --serve");
	return 0;
}

int parse_perf_args(int argc, char **argv, struct perf_args *out)
{
	int c, ret;

	*out = (struct perf_args){
		.repeat = DEFAULT_REPEAT, .seconds = 0.1, .passes = 3, .peer = "lsi0", .port = PERF_PORT, .noise = DEFAULT_NOISE,
	};
	parse_sizes("64-1G", out);
	optind = 0;
	while ((c = next_option_or_word(argc, argv, options)) != -1) {
		if (c == '?')
			return EXIT_USAGE;
		ret = parse_option(c, out);
		if (ret)
			return ret;
	}
	return take_host(argc, argv, out);
}

bool perf_wants(const struct perf_args *args, const char *group)
{
	size_t length = strlen(group);
	const char *at = args->only;

	if (!at)
		return true;
	for (; (at = strstr(at, group)); at += length)
		if ((at == args->only || at[-1] == ',') && (!at[length] || at[length] == ','))
			return true;
	return false;
}
