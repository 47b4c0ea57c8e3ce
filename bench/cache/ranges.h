/* SPDX-License-Identifier: MIT */
/* Ranges to cache, and random look-ups. The same in each run. */
#ifndef RANGES_H
#define RANGES_H

#include "bench/baseline/contender.h"

struct ranges {
	struct range *at;
	unsigned int count;
};

/* @count of @length each, without a gap, in order */
struct ranges ranges_dense(unsigned int count, uint64_t length);

/*
 * Ranges scattered over 46 address bits, in random order, of @length each. @length 0: of 64 KiB to 1 GiB, each order of
 * magnitude equally often
 */
struct ranges ranges_scattered(unsigned int count, uint64_t length);

void ranges_free(struct ranges *r);

/* Look-ups of 64 KiB in random ranges */
void ranges_look_up(const struct ranges *r, struct lookup *out, unsigned int count);

/* Likewise in each range in turn, from a random one on, to warm the CPU caches */
void ranges_look_up_each(const struct ranges *r, struct lookup *out, unsigned int count);

#endif
