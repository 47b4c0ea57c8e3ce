/* SPDX-License-Identifier: MIT */
/* Does a hit wait for a stopped writer? */
#ifndef STALL_H
#define STALL_H

#include "ranges.h"

/**
 * struct stall
 * @stops: number of stops
 * @inside: stops inside the critical section, in which no other thread could write
 * @waited: stops in which the reader finished its hits only after the writer continued
 * @hits: hits while the writer was stopped
 */
struct stall {
	unsigned int stops;
	unsigned int inside;
	unsigned int waited;
	uint64_t hits;
};

/* Stop at most @stops times, and until the reader has waited @enough times. Needs two CPUs. */
struct stall stall(const struct contender *c, unsigned int stops, unsigned int enough);

#endif
