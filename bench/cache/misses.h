/* SPDX-License-Identifier: MIT */
/* Misses of members of the team at the same time, of the same ranges or of different ranges */
#ifndef MISSES_H
#define MISSES_H

#include "ours.h"
#include "ranges.h"
#include "team.h"

enum { MISSES = 5 };	/* of each member */

/**
 * struct misses - misses of members of the team
 * @together: true: all members get the same ranges
 * @pin_ns: time of a pin
 * @ns: time of each member
 */
struct misses {
	struct ours *cache;
	struct ranges ranges;
	bool together;
	uint64_t pin_ns;
	unsigned int members;
	atomic_uint ready;
	uint64_t ns[TEAM];
};

/* Return the number of pins. */
unsigned int misses_run(struct misses *m, unsigned int members);

#endif
