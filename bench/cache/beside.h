/* SPDX-License-Identifier: MIT */
/* What a hit costs while another thread keeps the cache busy, against what it costs when that one rests. */
#ifndef BESIDE_H
#define BESIDE_H

#include "ranges.h"

/**
 * struct beside - ns a hit
 * @mean: of some thousands in a row, with all that they wait for; the median of those
 * @single: of single hits, the reading of the clock included; median
 * @worst: of the same, 99.9th percentile
 */
struct beside {
	double mean;
	double single;
	double worst;
};

/**
 * struct other - what the other thread does without pause
 * @step: the @i-th piece of it
 * @steps: how many there have been; where it begins
 */
struct other {
	void (*step)(struct other *o, unsigned int i);
	void *cache;
	const struct ranges *ranges;
	unsigned int steps;
};

/* Hits of @hot in the cache of @other by turns, while it rests and while it does not; prints both. */
void beside(const char *name, const struct contender *c, const struct ranges *hot, struct other *other,
	    struct beside *quiet, struct beside *busy);

#endif
