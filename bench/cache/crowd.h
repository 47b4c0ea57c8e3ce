/* SPDX-License-Identifier: MIT */
/* Misses in a process with many threads: all of them miss, or all but one are idle */
#ifndef CROWD_H
#define CROWD_H

#include "ranges.h"

enum {
	CROWD = 1000,		/* maximum number of threads */
	INVALIDATED = 2000,	/* entries of one invalidation of crowd_idle() */
};

/**
 * struct crowd - results for one contender
 * @ns: time of a round divided by the number of operations of all threads; median
 * @cpu: ns of CPU time per operation, of the whole process; median. Other load changes it less than @ns
 * @switches: context switches per operation, of the whole process; median
 */
struct crowd {
	double ns;
	double cpu;
	double switches;
};

/*
 * Each of @threads uses random ranges of @ranges, in a cache with space for @limit of them. ours and the tree take
 * turns.
 */
void crowd_misses(unsigned int threads, const struct ranges *ranges, unsigned int limit, struct crowd *of_ours,
		  struct crowd *of_tree);

/**
 * struct idle - ns of CPU time of an operation in our cache by one thread, beside idle threads that have used the cache
 * @one: beside one idle thread
 * @all: beside CROWD idle threads
 * @after: beside one again, after the others have ended
 */
struct idle {
	double one;
	double all;
	double after;
};

/*
 * @ranges: each begins at the end of the range before it
 * @miss: a miss and eviction, with space for @limit of @ranges
 * @invalidation: one call that invalidates INVALIDATED entries
 */
void crowd_idle(const struct ranges *ranges, unsigned int limit, struct idle *miss, struct idle *invalidation);

#endif
