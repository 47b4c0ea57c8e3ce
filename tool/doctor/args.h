/* SPDX-License-Identifier: MIT */
#ifndef DOCTOR_ARGS_H
#define DOCTOR_ARGS_H

#include <stdbool.h>

/** struct doctor_args - @root, @capture, @process: NULL if not given */
struct doctor_args {
	const char *root;
	const char *capture;
	const char *process;
	bool json;
};

/* Returns 0, or EXIT_USAGE after usage_error(). */
int parse_doctor_args(int argc, char **argv, struct doctor_args *out);

#endif
