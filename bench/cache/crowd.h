/* SPDX-License-Identifier: MIT */
/* Misses in a process with many threads: all of them miss, or all but one are idle */
#ifndef CROWD_H
#define CROWD_H

#include "ranges.h"

enum { CROWD = 1000 };	/* maximum number of threads */

/**
 * struct crowd - results for one contender
 * @ns: time of a round divided by the number of operations of all threads; median
 * @switches: context switches of the process, an operation; median
 */
struct crowd {
	double ns;
	double switches;
};

/* Each of @threads uses random ranges of @ranges, in a cache with space for @limit of them. ours and the tree take turns. */
void crowd_misses(unsigned int threads, const struct ranges *ranges, unsigned int limit, struct crowd *of_ours,
		  struct crowd *of_tree);

/* ns of a miss and eviction in our cache by one thread: beside one other thread, beside CROWD idle threads, after them */
void crowd_idle(const struct ranges *ranges, unsigned int limit, double *beside_one, double *beside_all, double *after);

#endif
