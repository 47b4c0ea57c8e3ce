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
 * struct verify_args - arguments of peerpin verify
 * @test_args: arguments of the test program, without the program's name; ends with NULL
 * @device: the driver's device: lsi, edu, nvme, rdma or none
 * @nvidia: NVIDIA's driver that the emulator plays: open or proprietary
 * @kernel: kernel for emu/vm/run; NULL: the default of emu/vm/run
 * @first: stop at the first violation
 * @only: id of the only scenario to run; NULL: run all scenarios
 * @json, @html: report files to write; NULL: no such report
 */
struct verify_args {
	const char *driver;
	const char *test;
	char **test_args;
	const char *device;
	const char *nvidia;
	const char *kernel;
	enum verify_level level;
	bool first;
	const char *only;
	const char *json;
	const char *html;
};

/* Returns 0, or EXIT_USAGE after printing the error. */
int parse_verify_args(int argc, char **argv, struct verify_args *out);

/* Prints a shell command line that runs only scenario @id; NULL: a line that runs all scenarios, with --full. */
void print_repeat(FILE *file, const struct verify_args *args, const char *id);

#endif
