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
 * @from_path, @to_path: of a side that is a file
 * @path: that of the two which is there, or NULL
 * @size: 0: not given, which only a file to copy from may be
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
 * The next of long options only, with values from 256; -1 at the end, or '?'
 * after a complaint. Set optind to 0 before the first.
 */
int next_option(int argc, char **argv, const struct option *options);

/* 0, or EXIT_USAGE or EXIT_FAILED after the complaint has been printed. */
int parse_copy_args(int argc, char **argv, struct copy_args *out);
int parse_bar_args(int argc, char **argv, bool *json);

#endif
