// SPDX-License-Identifier: MIT
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include "tool/util/args.h"
#include "tool/tool.h"
#include "args.h"
#include "tool/util/units.h"

enum {
	ONCE = 256,
	INTERVAL,
	COUNT,
	JSON,
};

static const struct option options[] = {
	{ "once", no_argument, NULL, ONCE },
	{ "interval", required_argument, NULL, INTERVAL },
	{ "count", required_argument, NULL, COUNT },
	{ "json", no_argument, NULL, JSON },
	{ 0 },
};

/* @text: seconds, with an optional fraction */
static int parse_interval(const char *text, uint64_t *out)
{
	char *end;
	double seconds;

	errno = 0;
	seconds = strtod(text, &end);
	if (end == text || *end || errno || !(seconds >= 0.1 && seconds <= 3600))
		return usage_error("--interval is a number of seconds from 0.1 to 3600, not %s", text);
	*out = (uint64_t)(seconds * 1e9);
	return 0;
}

static int parse_count(const char *text, uint64_t *out)
{
	if (parse_number(text, out) || !*out)
		return usage_error("--count is a number from 1 on, not %s", text);
	return 0;
}

static int parse_option(int option, struct top_args *out)
{
	switch (option) {
	case INTERVAL:
		return parse_interval(optarg, &out->interval_ns);
	case COUNT:
		return parse_count(optarg, &out->count);
	case JSON:
		out->lines = true;
		out->json = true;
		return 0;
	default:
		out->lines = true;
		out->count = 1;
		return 0;
	}
}

int parse_top_args(int argc, char **argv, struct top_args *out)
{
	int c, ret;

	*out = (struct top_args){ .interval_ns = 1000000000 };
	optind = 0;
	while ((c = next_option(argc, argv, options)) != -1) {
		if (c == '?')
			return EXIT_USAGE;
		ret = parse_option(c, out);
		if (ret)
			return ret;
	}
	return 0;
}
