// SPDX-License-Identifier: MIT
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include "tool/tool.h"
#include "args.h"

/* getopt_long() uses character values for short options, so these values are above all characters. */
enum {
	DRIVER = 256,
	TEST,
	DEVICE,
	NVIDIA,
	KERNEL,
	QUICK,
	FULL,
	FIRST,
	ONLY,
	JSON,
	HTML,
};

static const struct option options[] = {
	{ "driver", required_argument, NULL, DRIVER },
	{ "test", required_argument, NULL, TEST },
	{ "device", required_argument, NULL, DEVICE },
	{ "nvidia", required_argument, NULL, NVIDIA },
	{ "kernel", required_argument, NULL, KERNEL },
	{ "quick", no_argument, NULL, QUICK },
	{ "full", no_argument, NULL, FULL },
	{ "first", no_argument, NULL, FIRST },
	{ "only", required_argument, NULL, ONLY },
	{ "json", required_argument, NULL, JSON },
	{ "html", required_argument, NULL, HTML },
	{ 0 },
};

static int parse_device(const char *text, const char **out)
{
	static const char *const devices[] = { "lsi", "edu", "nvme", "rdma", "none" };
	size_t i;

	for (i = 0; i < sizeof(devices) / sizeof(devices[0]); i++)
		if (!strcmp(text, devices[i])) {
			*out = devices[i];
			return 0;
		}
	return usage_error("--device is lsi, edu, nvme, rdma or none, not %s", text);
}

static int parse_nvidia(const char *text, const char **out)
{
	if (strcmp(text, "open") && strcmp(text, "proprietary"))
		return usage_error("--nvidia is open or proprietary, not %s", text);
	*out = text;
	return 0;
}

/* @word: the option as typed */
static int parse_option(int option, const char *word, struct verify_args *out)
{
	switch (option) {
	case DRIVER:
		out->driver = optarg;
		return 0;
	case TEST:
		out->test = optarg;
		return 0;
	case DEVICE:
		return parse_device(optarg, &out->device);
	case NVIDIA:
		return parse_nvidia(optarg, &out->nvidia);
	case KERNEL:
		out->kernel = optarg;
		return 0;
	case QUICK:
		out->level = LEVEL_QUICK;
		return 0;
	case FULL:
		out->level = LEVEL_FULL;
		return 0;
	case FIRST:
		out->first = true;
		return 0;
	case ONLY:
		out->only = optarg;
		return 0;
	case JSON:
		out->json = optarg;
		return 0;
	case HTML:
		out->html = optarg;
		return 0;
	case ':':
		return usage_error("%s needs a value", word);
	default:
		return usage_error("verify does not know %s", word);
	}
}

/* getopt_long() stops at the first word that is not an option. The test's arguments must follow "--". */
static int take_test_args(int argc, char **argv, struct verify_args *out)
{
	if (optind < argc && strcmp(argv[optind - 1], "--"))
		return usage_error("verify does not know what to do with %s: the test's arguments go after --",
				   argv[optind]);
	out->test_args = argv + optind;
	return 0;
}

static int check(const struct verify_args *args)
{
	if (!args->driver)
		return usage_error("verify needs the driver: --driver FILE.ko");
	if (!args->test)
		return usage_error("verify needs a program that uses the driver: --test PROGRAM");
	return 0;
}

/* emu/vm/run also reads $KERNEL. verify reads the variable to name the kernel in the report. */
static const char *kernel_of_environment(void)
{
	const char *kernel = getenv("KERNEL");

	return kernel && *kernel ? kernel : NULL;
}

int parse_verify_args(int argc, char **argv, struct verify_args *out)
{
	int c, ret;

	*out = (struct verify_args) { .device = "lsi", .nvidia = "open" };
	optind = 0;
	opterr = 0;
	while ((c = getopt_long(argc, argv, "+:", options, NULL)) != -1) {
		ret = parse_option(c, argv[optind - 1], out);
		if (ret)
			return ret;
	}
	if (!out->kernel)
		out->kernel = kernel_of_environment();
	ret = take_test_args(argc, argv, out);
	return ret ? ret : check(out);
}

static void print_word(FILE *file, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=,:+@%";

	if (*word && !word[strspn(word, plain)]) {
		fputs(word, file);
		return;
	}
	putc('\'', file);
	for (; *word; word++)
		if (*word == '\'')
			fputs("'\\''", file);
		else
			putc(*word, file);
	putc('\'', file);
}

static void print_option(FILE *file, const char *name, const char *value)
{
	fprintf(file, " %s ", name);
	print_word(file, value);
}

void print_repeat(FILE *file, const struct verify_args *args, const char *id)
{
	char **arg;

	print_word(file, program_invocation_name);
	fputs(" verify", file);
	print_option(file, "--driver", args->driver);
	print_option(file, "--test", args->test);
	if (strcmp(args->device, "lsi"))
		print_option(file, "--device", args->device);
	if (strcmp(args->nvidia, "open"))
		print_option(file, "--nvidia", args->nvidia);
	if (args->kernel)
		print_option(file, "--kernel", args->kernel);
	if (id)
		print_option(file, "--only", id);
	else
		fputs(" --full", file);
	if (*args->test_args)
		fputs(" --", file);
	for (arg = args->test_args; *arg; arg++) {
		putc(' ', file);
		print_word(file, *arg);
	}
}
