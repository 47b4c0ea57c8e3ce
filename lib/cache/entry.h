/* SPDX-License-Identifier: MIT */
/*
 * Entries of the registration cache, and their pool. The memory of an entry is used
 * for entries only until the pool ends, so a reader may read an entry's state at any
 * time, even after the entry has been freed or reused.
 */
#ifndef PP_ENTRY_H
#define PP_ENTRY_H

#include <stdatomic.h>
#include <stddef.h>
#include "libpeerpin.h"
#include "range.h"

#define pp_container_of(ptr, type, member) \
	((type *)((char *)(ptr) - offsetof(type, member)))

enum {
	PP_NO_ENTRY = 0,	/* the entry with this index exists but is never used */
	PP_FIRST_ENTRY = 1,
	PP_MAX_ENTRIES = 1 << 22,
};

enum pp_entry_state {
	PP_FREE,	/* in the pool */
	PP_PENDING,	/* being pinned; in the index */
	PP_ORPHAN,	/* being pinned; not in the index yet, or forgotten already */
	PP_LIVE,	/* in the index and in the LRU list */
	PP_COLD,	/* as LIVE, and next to be evicted; a reader makes it LIVE before use */
	PP_GONE,	/* forgotten; its last put makes it DEAD */
	PP_EVICTED,	/* being unpinned, and in the index, so that the range is not registered again meanwhile */
	PP_DEAD,	/* being unpinned */
};

/**
 * struct pp_entry - a cached registration
 * @pub: the part that users see; does not change from LIVE until FREE
 * @word: address of a word, or NULL; the registration is valid while *@word is @value
 * @state: enum pp_entry_state; changed under the cache's lock. Exception: any
 *	reader may change COLD to LIVE
 * @shared: count of references that are not in a thread's own words (reader.h). The
 *	number of users is the sum of @shared and all threads' words. A put by
 *	another thread than the get may make @shared negative
 * @stamp: time of the last use
 * @queued: in an LRU list: value of @stamp when the entry got its place. EVICTED, DEAD:
 *	value of @doom in struct pp_cache when the entry was doomed
 * @prev, @next: neighbours in an LRU list, or in another list of struct pp_cache
 * @link: in an LRU list: 1 in the list of cold entries, else 0. FREE: next entry of
 *	the pool. GONE, EVICTED, DEAD: next entry that the same thread examines or unpins.
 *	In @done of struct pp_cache: next entry of the stack; before LIVE or GONE @prev,
 *	@queued and @next of such an entry are the fields of struct pp_pinned
 */
struct pp_entry {
	struct pp_cache_entry pub;
	const uint32_t *word;
	uint32_t value;
	_Atomic uint32_t state;
	_Atomic int32_t shared;
	_Atomic uint32_t stamp;
	uint32_t queued;
	uint32_t prev;
	uint32_t next;
	uint32_t link;
};

_Static_assert(sizeof(struct pp_entry) == 64, "an entry is one cache line");

/**
 * struct pp_tally - sum of all threads' references to an entry, at the last count (reader.h)
 * @next: next entry with a sum, or PP_NO_TALLY; 0: the entry has none
 */
struct pp_tally {
	uint32_t users;
	uint32_t next;
};

#define PP_NO_TALLY UINT32_MAX

/**
 * struct pp_pool - pool of entries; its user provides the lock
 * @base: addresses for @most entries; the first @ready of them have memory
 * @tally: for each entry; in the same mapping
 * @ever: index of the first entry that was never taken
 * @free: index of the entry given back last, or PP_NO_ENTRY
 */
struct pp_pool {
	struct pp_entry *base;
	struct pp_tally *tally;
	uint32_t most;
	uint32_t ready;
	uint32_t ever;
	uint32_t free;
};

int pp_pool_init(struct pp_pool *pool);		/* 0 or -ENOMEM */
void pp_pool_end(struct pp_pool *pool);

/* Take an entry. Its state is ORPHAN; @pub and @word are zeroed. NULL: no memory */
struct pp_entry *pp_pool_take(struct pp_pool *pool);
void pp_pool_give(struct pp_pool *pool, struct pp_entry *e);

static inline struct pp_entry *pp_entry_at(const struct pp_pool *pool, uint32_t index)
{
	return pool->base + index;
}

static inline uint32_t pp_entry_index(const struct pp_pool *pool, const struct pp_entry *e)
{
	return e - pool->base;
}

static inline uint32_t pp_entry_state(struct pp_entry *e)
{
	return atomic_load_explicit(&e->state, memory_order_seq_cst);
}

/* Under the cache's lock; not if the state is COLD, which readers change. Release: publishes the entry's fields. */
static inline void pp_entry_set_state(struct pp_entry *e, enum pp_entry_state state)
{
	atomic_store_explicit(&e->state, state, memory_order_release);
}

static inline struct pp_range pp_entry_range(const struct pp_entry *e)
{
	return (struct pp_range){ e->pub.addr, e->pub.addr + e->pub.length };
}

static inline void pp_entry_set_range(struct pp_entry *e, const struct pp_range *range)
{
	e->pub.addr = range->start;
	e->pub.length = pp_range_length(range);
}

/* Is the entry in an LRU list? Under the cache's lock. */
static inline bool pp_entry_is_listed(struct pp_entry *e)
{
	uint32_t state = pp_entry_state(e);

	return state == PP_LIVE || state == PP_COLD;
}

/* Is the entry in the index? Under the cache's lock. */
static inline bool pp_entry_is_indexed(struct pp_entry *e)
{
	uint32_t state = pp_entry_state(e);

	return state == PP_PENDING || state == PP_LIVE || state == PP_COLD || state == PP_EVICTED;
}

#endif
