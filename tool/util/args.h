/* SPDX-License-Identifier: MIT */
/* The command lines of the subcommands. */
#ifndef ARGS_H
#define ARGS_H

#include <stdbool.h>
#include <stdint.h>

enum side {
	SIDE_GPU,
	SIDE_HOST,
	SIDE_FILE,
};

/**
 * struct copy_args - peerpin copy
 * @from_path, @to_path: path of the side that is a file, else NULL
 * @path: @from_path or @to_path, whichever is set; NULL: no side is a file
 * @size: 0: not given; allowed only with --from file:PATH
 */
struct copy_args {
	const char *peer;
	enum side from;
	enum side to;
	const char *from_path;
	const char *to_path;
	const char *path;
	bool overwrite;
	uint64_t size;
	uint64_t repeat;
	bool verify;
	bool json;
};

struct option;

/*
 * Returns the next option. All options are long, with values from 256. -1: end of options;
 * '?': error, already printed. Set optind to 0 before the first call.
 */
int next_option(int argc, char **argv, const struct option *options);

/* Return 0, or EXIT_USAGE or EXIT_FAILED after printing the error. */
int parse_copy_args(int argc, char **argv, struct copy_args *out);
int parse_bar_args(int argc, char **argv, bool *json);

#endif
