/* SPDX-License-Identifier: MIT */
/* Does a hit wait for a stopped writer? */
#ifndef STALL_H
#define STALL_H

#include "ranges.h"

/**
 * struct stall - results
 * @stops: number of stops
 * @inside: number of stops inside the critical section, in which no other thread could write
 * @waited: number of stops in which the reader finished its hits only after the writer continued
 * @hits: number of hits while the writer was stopped
 */
struct stall {
	unsigned int stops;
	unsigned int inside;
	unsigned int waited;
	uint64_t hits;
};

/* Stop the writer until the reader has waited @enough times, but at most @stops times. Needs two CPUs. */
struct stall stall(const struct contender *c, unsigned int stops, unsigned int enough);

#endif
