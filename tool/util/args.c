// SPDX-License-Identifier: MIT
#include <errno.h>
#include <getopt.h>
#include <string.h>
#include "args.h"
#include "tool/tool.h"
#include "units.h"

enum {
	MAX_REPEAT = 1000000,
	DEFAULT_SIZE = 8 << 20,
};

/* Option values above all characters: getopt_long() uses characters for short options. */
enum {
	PEER = 256,
	FROM,
	TO,
	SIZE,
	REPEAT,
	OVERWRITE,
	VERIFY,
	JSON,
};

static const struct option copy_options[] = {
	{ "peer", required_argument, NULL, PEER },
	{ "from", required_argument, NULL, FROM },
	{ "to", required_argument, NULL, TO },
	{ "size", required_argument, NULL, SIZE },
	{ "repeat", required_argument, NULL, REPEAT },
	{ "overwrite", no_argument, NULL, OVERWRITE },
	{ "verify", no_argument, NULL, VERIFY },
	{ "json", no_argument, NULL, JSON },
	{ 0 },
};

static const struct option bar_options[] = {
	{ "json", no_argument, NULL, JSON },
	{ 0 },
};

static int parse_peer(const char *text, const char **out)
{
	if (!*text)
		return usage_error("--peer is the name of a device, such as lsi0");
	*out = text;
	return 0;
}

static bool is_file(const char *text, const char **path)
{
	static const char prefix[] = "file:";

	if (strncmp(text, prefix, strlen(prefix)) || !text[strlen(prefix)])
		return false;
	*path = text + strlen(prefix);
	return true;
}

/* Sets *out and *path (NULL: no file), so that the last option wins if a side is given twice. */
static int parse_side(const char *name, const char *text, enum side *out, const char **path)
{
	*path = NULL;
	if (!strcmp(text, "gpu"))
		*out = SIDE_GPU;
	else if (!strcmp(text, "host"))
		*out = SIDE_HOST;
	else if (is_file(text, path))
		*out = SIDE_FILE;
	else
		return usage_error("%s is gpu, host or file:PATH, not %s", name, text);
	return 0;
}

static int parse_size_arg(const char *text, uint64_t *out)
{
	int ret = parse_size(text, out);

	if (ret == -ERANGE)
		return usage_error("--size %s is more than any memory; give a smaller one", text);
	if (ret)
		return usage_error("--size is a number of bytes, or a number with K, M or G, not %s", text);
	if (!*out)
		return usage_error("there is nothing to copy: give --size 1 or more, such as --size 8M");
	return 0;
}

static int parse_repeat(const char *text, uint64_t *out)
{
	if (parse_number(text, out) || *out < 1 || *out > MAX_REPEAT)
		return usage_error("--repeat is a number from 1 to %d, not %s",
				   MAX_REPEAT, text);
	return 0;
}

static int parse_copy_option(int option, struct copy_args *out)
{
	switch (option) {
	case PEER:
		return parse_peer(optarg, &out->peer);
	case FROM:
		return parse_side("--from", optarg, &out->from, &out->from_path);
	case TO:
		return parse_side("--to", optarg, &out->to, &out->to_path);
	case SIZE:
		return parse_size_arg(optarg, &out->size);
	case REPEAT:
		return parse_repeat(optarg, &out->repeat);
	case OVERWRITE:
		out->overwrite = true;
		return 0;
	case VERIFY:
		out->verify = true;
		return 0;
	default:
		out->json = true;
		return 0;
	}
}

/* getopt does not advance optind for an unknown letter in a cluster (-abc). Then print the letter in optopt. */
static void unknown_option(char **argv)
{
	if (optopt > 0 && optopt < PEER)
		usage_error("%s does not know -%c", argv[0], optopt);
	else
		usage_error("%s does not know %s", argv[0], argv[optind - 1]);
}

int next_option_or_word(int argc, char **argv, const struct option *options)
{
	int c;

	opterr = 0;
	c = getopt_long(argc, argv, ":", options, NULL);
	if (c == ':')
		usage_error("%s needs a value", argv[optind - 1]);
	else if (c == '?')
		unknown_option(argv);
	else
		return c;
	return '?';
}

int next_option(int argc, char **argv, const struct option *options)
{
	int c = next_option_or_word(argc, argv, options);

	if (c != -1 || optind == argc)
		return c;
	usage_error("%s does not know what to do with %s", argv[0], argv[optind]);
	return '?';
}

/* If one side is a file, the other side must be the GPU. The file's disk moves the data, so there is no peer. */
static int check_sides(struct copy_args *args)
{
	bool file = args->from == SIDE_FILE || args->to == SIDE_FILE;

	args->path = args->from_path ? args->from_path : args->to_path;
	if (file && args->from != SIDE_GPU && args->to != SIDE_GPU)
		return usage_error("a file is copied to the GPU or from it; give gpu as the other side");
	if (file && args->peer)
		return usage_error("the disk of the file moves the data itself; leave --peer out");
	if (!args->peer)
		args->peer = "lsi0";
	if (args->overwrite && args->to != SIDE_FILE)
		return usage_error("--overwrite is for --to file:PATH");
	if (!args->size && args->from != SIDE_FILE)
		args->size = DEFAULT_SIZE;
	return 0;
}

int parse_copy_args(int argc, char **argv, struct copy_args *out)
{
	int c, ret;

	*out = (struct copy_args) {
		.from = SIDE_GPU,
		.to = SIDE_GPU,
		.repeat = 1,
	};
	optind = 0;
	while ((c = next_option(argc, argv, copy_options)) != -1) {
		if (c == '?')
			return EXIT_USAGE;
		ret = parse_copy_option(c, out);
		if (ret)
			return ret;
	}
	return check_sides(out);
}

int parse_bar_args(int argc, char **argv, bool *json)
{
	int c;

	*json = false;
	optind = 0;
	while ((c = next_option(argc, argv, bar_options)) != -1) {
		if (c == '?')
			return EXIT_USAGE;
		*json = true;
	}
	return 0;
}
