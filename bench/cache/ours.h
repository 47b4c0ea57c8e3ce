/* SPDX-License-Identifier: MIT */
/* A cache of the library as its users see it, with a pin that costs nothing or as long as is said. */
#ifndef OURS_H
#define OURS_H

#include <libpeerpin.h>
#include <stdatomic.h>
#include "bench/baseline/contender.h"

/**
 * struct ours
 * @words: one of them says whether a registration is good; given out one after the other
 * @pins: how many there were, which is the next word's place
 * @first: where they begin anew when all have been given out
 * @pin_ns: how long a pin takes
 */
struct ours {
	struct pp_cache *cache;
	uint32_t *words;
	atomic_uint pins;
	unsigned int first;
	uint64_t pin_ns;
};

/* Changes the word of the registration of a range, as revocation does: whoever gets it next finds it stale. */
void ours_revoke(struct ours *o, const struct range *range);

struct pp_cache_stats ours_stats(void *cache);

extern const struct contender ours;
extern const struct contender ours_one_word;	/* a constant of the library's says that each registration is good */

#endif
