/* SPDX-License-Identifier: MIT */
#ifndef CALLS_WORKER_H
#define CALLS_WORKER_H

#include <stdnoreturn.h>
#include "corpus.h"

enum { THREADS_MAX = 8 };

/**
 * struct fuzz - shared by all workers
 * @calls: number of calls made by finished programs
 * @programs: number of finished programs
 * @friend: sockets on which workers send each other files
 * @keep: file to which each thread writes its program before running it; -1: none
 * @replay: one program for each thread; NULL: choose programs
 */
struct fuzz {
	struct corpus corpus;
	uint64_t calls;
	uint64_t programs;
	uint64_t seed;
	unsigned int threads;
	int friend[2];
	int keep;
	const struct program *replay;
};

/**
 * worker_run() - run as worker @number, in life @life
 *
 * Runs some programs in parallel threads and exits without releasing anything. Every second worker
 * is an ordinary user.
 */
noreturn void worker_run(struct fuzz *fuzz, unsigned int number, unsigned int life);

#endif
