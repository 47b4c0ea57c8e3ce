/* SPDX-License-Identifier: MIT */
/* The cache of libpeerpin, with a pin that takes @pin_ns, which may be 0 */
#ifndef OURS_H
#define OURS_H

#include <libpeerpin.h>
#include <stdatomic.h>
#include "bench/baseline/contender.h"

/**
 * struct ours - a cache, and the words of its registrations
 * @words: one word for each registration, allocated in order
 * @pins: number of pins so far, which is the index of the next word
 * @first: index at which allocation continues when @words is used up
 * @pin_ns: time of a pin
 */
struct ours {
	struct pp_cache *cache;
	uint32_t *words;
	atomic_uint pins;
	unsigned int first;
	uint64_t pin_ns;
};

/* Change the word of a registration, like a revocation: the next get finds it stale. */
void ours_revoke(struct ours *o, const struct range *range);

struct pp_cache_stats ours_stats(void *cache);

extern const struct contender ours;
extern const struct contender ours_one_word;	/* all registrations share a constant word of the library */

#endif
