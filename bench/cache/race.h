/* SPDX-License-Identifier: MIT */
/* Contenders take turns in each round, so that other load disturbs all of them. */
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

/* @ns: medians in ns per operation and thread, indexed by contender and number of threads - 1; 0: not measured */
struct race {
	const char *name;
	double ns[RACERS][TEAM];
};

const char *racer_name(enum racer racer);

/* Hits of all of @ranges; prints a line for each contender and number of threads. */
struct race race_hits(const char *name, const struct ranges *ranges);

/* As race_hits(), of a chain of look-ups by one thread; only contenders with @chain */
struct race race_chain(const char *name, const struct ranges *ranges);

/* Single misses and evictions, each timed by two readings of the clock: 99.9th percentile in ns */
struct tail { double ours, tree; };
struct tail race_tail(const char *name, const struct ranges *ranges);

/* Misses: use @ranges in order in a cache with space for half of them. IDEAL is not measured. */
struct race race_misses(const char *name, const struct ranges *ranges);

#endif
