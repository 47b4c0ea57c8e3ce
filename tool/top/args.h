/* SPDX-License-Identifier: MIT */
/* The command line of peerpin top. */
#ifndef TOP_ARGS_H
#define TOP_ARGS_H

#include <stdbool.h>
#include <stdint.h>
#include "top.h"

/**
 * struct top_args - arguments of peerpin top
 * @lines: print lines, even on a terminal
 * @json: print each sample as a line of JSON; sets @lines
 * @count: number of samples; 0: no limit
 */
struct top_args {
	bool lines;
	bool json;
	uint64_t interval_ns;
	uint64_t count;
};

/* Returns 0, or EXIT_USAGE after printing the error. */
int parse_top_args(int argc, char **argv, struct top_args *out);

#endif
