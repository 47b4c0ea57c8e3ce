/* SPDX-License-Identifier: MIT */
#ifndef CALLS_CALLS_H
#define CALLS_CALLS_H

#include "world.h"

/** struct call - something that a program can do; the larger @weight, the more often */
struct call {
	unsigned int weight;
	void (*make)(struct world *world, struct choices *c);
};

/* Each list ends with one of weight 0. */
extern const struct call core_calls[];		/* /dev/peerpin */
extern const struct call gpu_calls[];		/* /dev/emugpu */
extern const struct call peer_calls[];		/* /dev/lsi0, and what any file can be asked */
extern const struct call memory_calls[];	/* memory of the process, and its children */

/* What mmap() has returned, unless it is MAP_FAILED; what it takes the place of is unmapped. */
void memory_keep(struct world *world, struct choices *c, enum range_kind kind, void *at, uint64_t size);

/* Makes those that @c chooses until it has no more; returns how many. */
uint64_t calls_run(struct world *world, struct choices *c);

#endif
