/* SPDX-License-Identifier: MIT */
/*
 * Calls NVML and CUDA in child processes, because the libraries may take seconds to wake a GPU, hang on a broken GPU,
 * print, or crash. The caller must not be affected.
 */
#ifndef FACTS_VENDOR_H
#define FACTS_VENDOR_H

#include <stdio.h>
#include <sys/types.h>

/** struct question - a child process; @name: NULL: not asked; @answer: read end of the child's pipe; -1: the child did not start */
struct question {
	const char *name;
	pid_t pid;
	int answer;
};

struct vendor {
	long asked_ms;
	struct question nvml, cuda;
};

/* Starts the children, or only the one that calls NVML. */
void vendor_ask(struct vendor *vendor);
void vendor_ask_nvml(struct vendor *vendor);

/* Writes the facts that arrive within @wait_ms of vendor_ask(), and an error line for each incomplete answer. */
void vendor_answer(struct vendor *vendor, FILE *out, unsigned int wait_ms);

#endif
