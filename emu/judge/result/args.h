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
 * @test_args: what the test program is given, behind its name; ends with NULL
 * @device: what the driver drives: lsi, edu, nvme or none
 * @kernel: as emu/vm/run knows them; NULL: its default
 * @only: the one scenario to run; NULL: all
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

/* 0, or EXIT_USAGE after the complaint has been printed. */
int parse_verify_args(int argc, char **argv, struct verify_args *out);

/* The command line, for a shell, that runs scenario @id alone. */
void print_repeat(FILE *file, const struct verify_args *args, const char *id);

#endif
