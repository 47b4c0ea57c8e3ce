/* SPDX-License-Identifier: MIT */
#ifndef SOAK_WORKER_H
#define SOAK_WORKER_H

#include <stdnoreturn.h>
#include "rule.h"
#include "soak.h"

enum {
	HOST_SIZE = 512 << 10,
	GPU_SIZE = 2 << 20,
	RESIDENT = 64 << 10,	/* size of the first part of each GPU area; the contents of this part never change */
	JOURNEY_MAX = 256 << 10,
};

enum area_name { HOST_A, HOST_B, GPU_A, GPU_B, AREAS };

/**
 * struct pin - a region of the worker's file
 * @host: true: host memory, which the kernel may move at any time; a move revokes the region
 * @made: a moment before the pin was made
 */
struct pin {
	bool there;
	bool host;
	uint32_t region;
	struct since made;
};

/**
 * struct area - memory of the process or of a GPU, and its pin
 * @resident: round in which the resident bytes were written; GPU memory only
 */
struct area {
	bool there;
	bool gpu;
	uint64_t at;
	uint64_t size;
	uint32_t resident;
	struct since made;
	struct pin pin;
};

/**
 * struct worker - a process
 * @gpu, @core, @peer: files of the nodes; -1: not open
 * @context: ID of the context of @token and @va_space; 0: no context
 * @rival: true: another thread frees or unpins areas in use
 * @scratch: HOST_SIZE bytes that only this worker writes
 */
struct worker {
	unsigned int number;
	uint64_t seed;
	uint32_t round;
	int gpu, core, peer;
	struct since peer_opened;
	uint32_t context;
	uint32_t va_space;
	uint64_t token;
	bool rival;
	struct area areas[AREAS];
	unsigned char *scratch;
};

/*
 * Return @error (0 or negative) if the rules allow it at trouble @when. Otherwise end the run. The
 * caller must compute @when after the call that failed.
 */
int worker_check(struct worker *w, enum op op, int error, unsigned int when);

/* Run as worker @number, in life @life. Never returns: the process exits or is killed. */
noreturn void worker_run(unsigned int number, unsigned int life);

#endif
