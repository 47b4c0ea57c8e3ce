/* SPDX-License-Identifier: MIT */
/* The cost of a hit while another thread keeps the cache busy, compared with an idle cache */
#ifndef BESIDE_H
#define BESIDE_H

#include "ranges.h"

/**
 * struct beside - ns per hit
 * @mean: median of means; each mean is over some thousand hits in a row, waits included
 * @single: median of single hits, with the time to read the clock
 * @worst: 99.9th percentile of single hits, with the time to read the clock
 */
struct beside {
	double mean;
	double single;
	double worst;
};

/**
 * struct other - load of the other thread
 * @step: make step @i
 * @steps: number of steps so far, and argument @i of the next step
 */
struct other {
	void (*step)(struct other *o, unsigned int i);
	void *cache;
	const struct ranges *ranges;
	unsigned int steps;
};

/* Measure hits of @hot in the cache of @other, with @other idle and busy in turns; print both results. */
void beside(const char *name, const struct contender *c, const struct ranges *hot, struct other *other,
	    struct beside *quiet, struct beside *busy);

#endif
