/* SPDX-License-Identifier: MIT */
/*
 * Calls NVML and CUDA in child processes: the libraries may take seconds to wake a GPU, hang on a broken GPU, print,
 * or crash. None of this must affect the caller.
 */
#ifndef FACTS_VENDOR_H
#define FACTS_VENDOR_H

#include <stdio.h>
#include <sys/types.h>

/** struct question - @answer: read end of a pipe; -1: the child could not be started */
struct question {
	const char *name;
	pid_t pid;
	int answer;
};

struct vendor {
	long asked_ms;
	struct question nvml, cuda;
};

/* Starts the children. */
void vendor_ask(struct vendor *vendor);

/* Writes the facts that arrive within @wait_ms of vendor_ask(), and an error line for each incomplete answer. */
void vendor_answer(struct vendor *vendor, FILE *out, unsigned int wait_ms);

#endif
