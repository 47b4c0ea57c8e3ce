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
 * struct copy_args - the arguments of peerpin copy
 * @from_path, @to_path: path of a side that is a file; NULL: the side is no file
 * @path: @from_path or @to_path; NULL: no side is a file
 * @size: bytes to copy; 0: the size of the file, only with --from file:PATH
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
 * Returns the value of the next option, -1 at the end of the options, or '?' after printing
 * an error. All options are long, with values from 256. Set optind to 0 before the first call.
 */
int next_option(int argc, char **argv, const struct option *options);

/* As next_option(), but words that are no options stay: they are argv[optind] and later at the end. */
int next_option_or_word(int argc, char **argv, const struct option *options);

/* Return 0, or EXIT_USAGE or EXIT_FAILED after printing the error. */
int parse_copy_args(int argc, char **argv, struct copy_args *out);
int parse_bar_args(int argc, char **argv, bool *json);

#endif
