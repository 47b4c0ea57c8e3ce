/* SPDX-License-Identifier: MIT */
/* Ranges to cache, and random look-ups. Each run has the same ones. */
#ifndef RANGES_H
#define RANGES_H

#include "bench/baseline/contender.h"

struct ranges {
	struct range *at;
	unsigned int count;
};

/* @count ranges of @length each, without gaps, in order */
struct ranges ranges_dense(unsigned int count, uint64_t length);

/*
 * @count ranges scattered over 46 address bits, in random order, of @length each. If @length is 0: of 64 KiB to 1 GiB,
 * each order of magnitude equally often
 */
struct ranges ranges_scattered(unsigned int count, uint64_t length);

/* @count ranges of 64 KiB to 1 GiB, without gaps, in random order; each order of magnitude equally often */
struct ranges ranges_packed(unsigned int count);

/* @count ranges without gaps: every @nth has 2 MiB, the others have 64 KiB */
struct ranges ranges_dense_but(unsigned int count, unsigned int nth);

/* @count ranges of 64 to 384 KiB, without gaps in each of two pools that begin 16 GiB apart; in random order */
struct ranges ranges_in_pools(unsigned int count);

void ranges_free(struct ranges *r);

/* Look-ups of 64 KiB in random ranges */
void ranges_look_up(const struct ranges *r, struct lookup *out, unsigned int count);

/* Look-ups of 64 KiB in each range in turn, from a random range on, to warm the CPU caches */
void ranges_look_up_each(const struct ranges *r, struct lookup *out, unsigned int count);

#endif
