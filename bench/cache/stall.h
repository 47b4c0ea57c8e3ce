/* SPDX-License-Identifier: MIT */
/* Does a hit wait for a writer that is stopped, wherever that is? */
#ifndef STALL_H
#define STALL_H

#include "ranges.h"

/**
 * struct stall
 * @stops: how often the writer was stopped
 * @inside: in how many of them nobody could write: it was inside its critical section
 * @waited: in how many the reader did not get its hits done until the writer went on
 * @hits: done while the writer was stopped
 */
struct stall {
	unsigned int stops;
	unsigned int inside;
	unsigned int waited;
	uint64_t hits;
};

/* At most @stops times, and until the reader has waited @enough times. Needs two CPUs. */
struct stall stall(const struct contender *c, unsigned int stops, unsigned int enough);

#endif
