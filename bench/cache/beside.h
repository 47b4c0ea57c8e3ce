/* SPDX-License-Identifier: MIT */
/* The cost of a hit while another thread keeps the cache busy, compared with an idle cache */
#ifndef BESIDE_H
#define BESIDE_H

#include "ranges.h"

/**
 * struct beside - ns per hit
 * @mean: mean over some thousands in a row, waits included; the median of these means
 * @single: median of single hits, with the time to read the clock
 * @worst: 99.9th percentile of the same
 */
struct beside {
	double mean;
	double single;
	double worst;
};

/**
 * struct other - load of the other thread
 * @step: make step @i
 * @steps: number of steps so far, the argument of the next one
 */
struct other {
	void (*step)(struct other *o, unsigned int i);
	void *cache;
	const struct ranges *ranges;
	unsigned int steps;
};

/* Measure hits of @hot in the cache of @other, in turns with @other idle and busy; print both. */
void beside(const char *name, const struct contender *c, const struct ranges *hot, struct other *other,
	    struct beside *quiet, struct beside *busy);

#endif
