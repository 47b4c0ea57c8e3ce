/* SPDX-License-Identifier: MIT */
/*
 * NVML and CUDA are asked in processes of their own: they may take seconds to wake a GPU, hang with a broken one, print
 * and crash, and nothing of that is to happen to who asks.
 */
#ifndef FACTS_VENDOR_H
#define FACTS_VENDOR_H

#include <stdio.h>
#include <sys/types.h>

/** struct question - @answer: a pipe, or -1: it could not be asked */
struct question {
	const char *name;
	pid_t pid;
	int answer;
};

struct vendor {
	long asked_ms;
	struct question nvml, cuda;
};

/* Begins to ask. */
void vendor_ask(struct vendor *vendor);

/* Writes the facts that come within @wait_ms of the asking, and why there are no others. */
void vendor_answer(struct vendor *vendor, FILE *out, unsigned int wait_ms);

#endif
