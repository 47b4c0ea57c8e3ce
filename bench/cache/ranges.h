/* SPDX-License-Identifier: MIT */
/* Ranges to be cached, and random ones to be looked up. The same each time. */
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
 * All over 46 bits of address, in no order: of @length each; 0: of 64 KiB to 1 GiB, each order of magnitude as often as
 * the others
 */
struct ranges ranges_scattered(unsigned int count, uint64_t length);

void ranges_free(struct ranges *r);

/* 64 KiB somewhere in each of random ranges */
void ranges_look_up(const struct ranges *r, struct lookup *out, unsigned int count);

/* The same in each range in turn, from a random one on: what makes the processor's caches warm */
void ranges_look_up_each(const struct ranges *r, struct lookup *out, unsigned int count);

#endif
