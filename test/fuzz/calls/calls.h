/* SPDX-License-Identifier: MIT */
#ifndef CALLS_CALLS_H
#define CALLS_CALLS_H

#include "world.h"

/** struct call - a call that a program can make; its frequency is proportional to @weight */
struct call {
	unsigned int weight;
	void (*make)(struct world *world, struct choices *c);
};

/* Each list ends with a call of weight 0. */
extern const struct call core_calls[];		/* /dev/peerpin */
extern const struct call gpu_calls[];		/* /dev/emugpu */
extern const struct call peer_calls[];		/* /dev/lsi0, and calls that work on any file */
extern const struct call memory_calls[];	/* memory of the process, and its children */

/* Stores the result of mmap(), unless it is MAP_FAILED, and unmaps the range that it replaces. */
void memory_keep(struct world *world, struct choices *c, enum range_kind kind, void *at, uint64_t size);

/* Makes the calls that @c chooses, until @c is used up; returns their number. */
uint64_t calls_run(struct world *world, struct choices *c);

#endif
