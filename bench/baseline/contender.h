/* SPDX-License-Identifier: MIT */
/*
 * What the caches that are compared have in common: ranges with a registration each, and one operation. It looks up
 * ASKED bytes, takes a reference, checks that the registration is valid (a word of memory has not changed) and gives it
 * back. Whoever lets @hits be inlined may: that is part of what a simple cache has over another.
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

/* @start: of the range that @addr lies in, for those that cannot search */
struct lookup {
	uint64_t addr;
	uint64_t start;
};

/**
 * struct contender
 * @shared: several threads may use it
 * @make: a cache that @count ranges will be put into; what is used least recently leaves it above @limit, if not 0
 * @use: the operation on whole ranges; what is not there is put in. Where there is no limit, the first use is the only
 *	one that puts in
 * @hits: the operation on what is there; how many were valid
 */
struct contender {
	const char *name;
	bool shared;
	void *(*make)(unsigned int count, unsigned int limit);
	void (*drop)(void *cache);
	void (*use)(void *cache, const struct range *ranges, unsigned int count);
	unsigned int (*hits)(void *cache, const struct lookup *lookups, unsigned int count);
};

extern const struct contender baseline_ideal;		/* unlocked hash by the start of the range */
extern const struct contender baseline_ideal_atomic;	/* the same, references counted atomically */
extern const struct contender baseline_array;		/* sorted array under a rwlock */
extern const struct contender baseline_rwtree;		/* red-black tree under a rwlock */
extern const struct contender baseline_tree;		/* red-black tree and LRU list under a mutex */

#endif
