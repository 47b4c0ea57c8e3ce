// SPDX-License-Identifier: MIT
#include <ctype.h>
#include <getopt.h>
#include <string.h>
#include "tool/util/args.h"
#include "tool/util/units.h"
#include "args.h"
#include "tool/tool.h"

/* Option values above all characters: getopt_long() uses characters for short options. */
enum {
	ROOT = 256,
	CAPTURE,
	PROCESS,
	JSON,
};

static const struct option options[] = {
	{ "root", required_argument, NULL, ROOT },
	{ "capture", required_argument, NULL, CAPTURE },
	{ "process", required_argument, NULL, PROCESS },
	{ "json", no_argument, NULL, JSON },
	{ 0 },
};

static int parse_process(const char *text, const char **out)
{
	uint64_t number;

	if (!isdigit((unsigned char)*text) || parse_number(text, &number) || !number || number > INT32_MAX)
		return usage_error("--process is the number of a process, not %s", text);
	*out = text;
	return 0;
}

static int parse_option(int option, struct doctor_args *out)
{
	switch (option) {
	case ROOT:
		out->root = optarg;
		return 0;
	case CAPTURE:
		out->capture = optarg;
		return 0;
	case PROCESS:
		return parse_process(optarg, &out->process);
	case JSON:
		out->json = true;
		return 0;
	default:
		return EXIT_USAGE;
	}
}

static int check_together(const struct doctor_args *args)
{
	if (args->capture && args->json)
		return usage_error("--capture writes no report; give --json later, with --root FILE.tar");
	if (args->capture && args->process)
		return usage_error("--capture copies no files of a process");
	return 0;
}

int parse_doctor_args(int argc, char **argv, struct doctor_args *out)
{
	int option, ret;

	memset(out, 0, sizeof(*out));
	optind = 0;
	while ((option = next_option(argc, argv, options)) != -1) {
		ret = parse_option(option, out);
		if (ret)
			return ret;
	}
	return check_together(out);
}
