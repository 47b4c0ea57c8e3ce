/* SPDX-License-Identifier: MIT */
#ifndef CALLS_WORKER_H
#define CALLS_WORKER_H

#include <stdnoreturn.h>
#include "corpus.h"

enum { THREADS_MAX = 8 };

/**
 * struct fuzz - what all workers share
 * @calls: that were made by programs that have ended
 * @programs: likewise
 * @friend: sockets on which workers send each other files
 * @keep: file in which each thread's program is, at the thread's number, before it runs; -1: none
 * @replay: programs to run in place of others, one a thread; NULL: none
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
 * worker_run() - be the worker @number, for the @life-th time
 *
 * Runs some programs in threads side by side, and ends with whatever it has. One
 * of two is an ordinary user.
 */
noreturn void worker_run(struct fuzz *fuzz, unsigned int number, unsigned int life);

#endif
