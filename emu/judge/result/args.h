/* SPDX-License-Identifier: MIT */
/* The command line of peerpin verify. */
#ifndef VERIFY_ARGS_H
#define VERIFY_ARGS_H

#include <stdbool.h>
#include <stdio.h>

enum verify_level {
	LEVEL_QUICK,
	LEVEL_FULL,
};

/**
 * struct verify_args - peerpin verify
 * @test_args: arguments of the test program, without its name; ends with NULL
 * @device: the driver's device: lsi, edu, nvme or none
 * @kernel: a kernel for emu/vm/run; NULL: its default
 * @only: run only this scenario; NULL: all
 * @json, @html: files to write; NULL: none
 */
struct verify_args {
	const char *driver;
	const char *test;
	char **test_args;
	const char *device;
	const char *kernel;
	enum verify_level level;
	bool first;
	const char *only;
	const char *json;
	const char *html;
};

/* Returns 0, or EXIT_USAGE after printing the error. */
int parse_verify_args(int argc, char **argv, struct verify_args *out);

/* Prints a shell command line that runs only scenario @id. */
void print_repeat(FILE *file, const struct verify_args *args, const char *id);

#endif
