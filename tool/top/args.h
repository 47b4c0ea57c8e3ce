/* SPDX-License-Identifier: MIT */
/* The command line of peerpin top. */
#ifndef TOP_ARGS_H
#define TOP_ARGS_H

#include <stdbool.h>
#include <stdint.h>
#include "top.h"

/** struct top_args - @lines: also on a terminal; @count: of samples to show, 0: no end */
struct top_args {
	bool lines;
	uint64_t interval_ns;
	uint64_t count;
};

/* 0, or EXIT_USAGE after the complaint has been printed. */
int parse_top_args(int argc, char **argv, struct top_args *out);

#endif
