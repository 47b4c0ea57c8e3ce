/* SPDX-License-Identifier: MIT */
#ifndef CALLS_CALLS_H
#define CALLS_CALLS_H

#include "world.h"

/** struct call - a call that a program can make; its frequency is proportional to @weight */
struct call {
	unsigned int weight;
	void (*make)(struct world *world, struct choices *c);
};

/* A call of weight 0 ends each list. */
extern const struct call core_calls[];		/* calls of /dev/peerpin */
extern const struct call gpu_calls[];		/* calls of /dev/emugpu */
extern const struct call peer_calls[];		/* calls of /dev/lsi0, and calls on any file */
extern const struct call memory_calls[];	/* calls on process memory and child processes */

/* Unmap the old range of @kind and store @at, the result of mmap(). No effect if @at is MAP_FAILED. */
void memory_keep(struct world *world, struct choices *c, enum range_kind kind, void *at, uint64_t size);

/* Make the calls that @c chooses, until @c is used up. Returns the number of calls. */
uint64_t calls_run(struct world *world, struct choices *c);

#endif
