/* SPDX-License-Identifier: MIT */
/*
 * The interface of all compared caches: ranges, each with a registration, and one operation. The operation looks up
 * ASKED bytes, takes a reference, checks that the registration is valid (a word in memory has not changed), and drops
 * the reference. A contender may inline the operation into @hits: this is an advantage of a simple cache.
 */
#ifndef CONTENDER_H
#define CONTENDER_H

#include <stdbool.h>
#include <stdint.h>

enum { ASKED = 64 << 10 };

struct range {
	uint64_t start;
	uint64_t length;
};

/* @start: start of the range that contains @addr, for contenders that cannot search */
struct lookup {
	uint64_t addr;
	uint64_t start;
};

/**
 * struct contender - a compared cache
 * @shared: true if several threads may use the cache
 * @make: make a cache for @count ranges. Above @limit ranges (0: no limit) it evicts the least recently used range
 * @use: the operation on whole ranges; inserts a missing range. Without a limit only the first use inserts
 * @hits: the operation on cached ranges; returns the number of valid registrations
 * @chain: as @hits, but the address of each look-up depends on the start of the range found before. NULL: not measured
 */
struct contender {
	const char *name;
	bool shared;
	void *(*make)(unsigned int count, unsigned int limit);
	void (*drop)(void *cache);
	void (*use)(void *cache, const struct range *ranges, unsigned int count);
	unsigned int (*hits)(void *cache, const struct lookup *lookups, unsigned int count);
	unsigned int (*chain)(void *cache, const struct lookup *lookups, unsigned int count);
};

extern const struct contender baseline_ideal;		/* unlocked hash by the start of the range */
extern const struct contender baseline_ideal_atomic;	/* baseline_ideal with atomic reference counts */
extern const struct contender baseline_array;		/* sorted array under a rwlock */
extern const struct contender baseline_rwtree;		/* red-black tree under a rwlock */
extern const struct contender baseline_tree;		/* red-black tree and LRU list under a mutex */

#endif
