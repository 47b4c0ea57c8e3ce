/* SPDX-License-Identifier: MIT */
/* Contenders that take turns, round by round, so that what else happens on the machine meets them all. */
#ifndef RACE_H
#define RACE_H

#include "ranges.h"
#include "team.h"

enum racer {
	IDEAL,
	IDEAL_ATOMIC,
	ARRAY,
	RWTREE,
	TREE,
	OURS,
	OURS_ONE_WORD,
	RACERS,
};

/* @ns: medians, ns an operation and thread, by how many threads there are but one; 0: was not measured */
struct race {
	const char *name;
	double ns[RACERS][TEAM];
};

const char *racer_name(enum racer racer);

/* Hits of all of @ranges; prints a line for each contender and number of threads. */
struct race race_hits(const char *name, const struct ranges *ranges);

/* Misses: @ranges are used one after the other in a cache that has room for half of them. IDEAL is not measured. */
struct race race_misses(const char *name, const struct ranges *ranges);

#endif
