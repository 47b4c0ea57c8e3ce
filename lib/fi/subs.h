/* SPDX-License-Identifier: MIT */
/*
 * Subscriptions: ranges of memory that have entries in libfabric's registration caches. Each has a
 * watch of its pages, or a pin if it is GPU memory.
 *
 * libfabric passes only a range to valid(), and several caches may have an entry of the same range.
 * So after a change of the memory a subscription stays invalid, even if a cache subscribes to the
 * range again, until all older entries of the range are removed: each valid() that returned false
 * and each unsubscription has removed one entry, and notify() removes all.
 *
 * libfabric holds one lock (mm_lock) around all calls of add(), remove() and valid(), and calls
 * clear() only while there is no cache. The other functions are for the notifying thread, which
 * does not hold mm_lock.
 */
#ifndef PP_FI_SUBS_H
#define PP_FI_SUBS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include "libpeerpin.h"
#include "lib/cache/range.h"
#include "lib/cuda/process.h"

enum {
	PP_SUBS_MAX = 131072,
	PP_SUBS_BATCH = 256,		/* ranges that one call of pp_subs_changed() returns */
};

enum pp_sub_stage {
	PP_SUB_FREE,
	PP_SUB_LIVE,
	PP_SUB_CHANGED,		/* older entries may be left in caches */
	PP_SUB_TELLING,		/* as CHANGED; the thread is in notify() */
};

/**
 * struct pp_sub - a subscription, or a free place of the table
 * @start: 0: never used; REMOVED of subs.c: used before
 * @stage: enum pp_sub_stage. LIVE: set by add() for a new subscription, and by told()
 * @length: of a place that was never used: UINT64_MAX, which no range has
 * @armed: has a watch or pin, which is newer than the last known change
 * @is_gpu: @id, @slot and @epoch are of a pin, otherwise of a watch
 * @entries: at least the number of entries of exactly this range in caches
 * @discarded: valid() has subtracted an entry from @entries. The next unsubscription, if it comes
 *	before an add(), is of the same entry
 * @hit: in the stage LIVE @epoch, otherwise @epoch - 1, which the word never has again. valid() compares the word with @hit
 */
struct pp_sub {
	_Alignas(64) _Atomic uint64_t start;
	uint64_t length;
	_Atomic uint32_t stage;
	bool armed;
	bool is_gpu;
	bool discarded;
	uint32_t entries;
	uint32_t id;
	uint32_t slot;
	uint32_t epoch;
	_Atomic uint32_t hit;
};

_Static_assert(sizeof(struct pp_sub) == 64, "a hit reads one cache line");

/**
 * struct pp_subs
 * @words: the revocation page of @ctx
 * @mark: mark of the process that made it (lib/cuda/process.h)
 * @lock: protects all fields below. valid() reads @table without it: see pp_subs_valid()
 * @wake: the thread has work, or @ending is set
 * @table: hash table of @mask + 1 places, a power of two
 * @used: places whose @start is not 0
 * @count: subscriptions
 * @cursor: place that the next scan examines first
 * @change: ranges of CHANGED subscriptions, @changes of them; a scan finds others
 */
struct pp_subs {
	struct pp_ctx *ctx;
	const _Atomic uint32_t *words;
	uint64_t mark;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct pp_sub *table;
	uint32_t mask;
	uint32_t used;
	uint32_t count;
	uint32_t cursor;
	uint32_t changes;
	struct pp_range change[PP_SUBS_BATCH];
	bool ending;
};

int pp_subs_init(struct pp_subs *s, struct pp_ctx *ctx);	/* 0 or -errno */
void pp_subs_fini(struct pp_subs *s);	/* of subscriptions that libfabric never used */

/*
 * A cache has made an entry. 0; -errno: the memory cannot be watched, or the table is full: the
 * cache must not keep the entry.
 */
int pp_subs_add(struct pp_subs *s, uint64_t start, uint64_t length);

/* A cache has removed an entry. */
void pp_subs_remove(struct pp_subs *s, uint64_t start, uint64_t length);

/* pp_subs_valid() calls it if the cache must remove its entry; counts this removal. Returns false. */
bool pp_subs_discard(struct pp_subs *s, uint64_t start, uint64_t length);

/* All caches are gone. */
void pp_subs_clear(struct pp_subs *s);

/* ---- the thread ---------------------------------------------------------------------- */

/* Waits until there may be work. False: pp_subs_end() was called. */
bool pp_subs_wait(struct pp_subs *s);

/*
 * Stores at most PP_SUBS_BATCH changed ranges at @out and returns their number. Pass each to notify(), and
 * then all to pp_subs_told().
 */
uint32_t pp_subs_changed(struct pp_subs *s, struct pp_range *out);
void pp_subs_told(struct pp_subs *s, const struct pp_range *ranges, uint32_t count);

/* Ends the thread's wait. */
void pp_subs_end(struct pp_subs *s);

/* ---- a hit: inline, because each call costs a hit instructions -------------------------- */

static inline uint32_t pp_subs_hash(uint64_t start, uint64_t length)
{
	return (start + length) * 0x9e3779b97f4a7c15ull >> 32;
}

/* The place that has this range, or NULL. For @start REMOVED this may be a place in the stage FREE. */
static inline struct pp_sub *pp_subs_place(const struct pp_subs *s, uint64_t start, uint64_t length)
{
	uint32_t at = pp_subs_hash(start, length);
	struct pp_sub *sub;
	uint64_t found;

	for (;; at++) {
		sub = &s->table[at & s->mask];
		found = atomic_load_explicit(&sub->start, memory_order_relaxed);
		if (__builtin_expect(found == start && sub->length == length, 1))
			return sub;
		if (!found)
			return NULL;
	}
}

/*
 * May a cache use its entry? If not, the cache removes the entry. A hit takes no lock of this library.
 *
 * The thread never moves a subscription and never removes a LIVE one. mm_lock excludes add() and remove(),
 * and clear() runs only while there is no cache. So the subscription that pp_subs_place() returns stays.
 *
 * The loads of @start and @hit are relaxed. mm_lock orders this call with add(), which stores all fields, and with
 * libfabric's notify(). notify() takes mm_lock itself; the thread stores @hit after notify() has returned. All
 * other stores to @hit prevent a hit. If this call misses such a store, it still compares the word.
 */
static inline bool pp_subs_valid(struct pp_subs *s, uint64_t start, uint64_t length)
{
	const struct pp_sub *sub = pp_process_is(s->mark) ? pp_subs_place(s, start, length) : NULL;
	uint32_t hit;

	if (sub) {
		hit = atomic_load_explicit(&sub->hit, memory_order_relaxed);
		/* Acquire: pairs with the kernel's release store, as in pp_watch_valid(). */
		if (atomic_load_explicit(&s->words[sub->slot], memory_order_acquire) == hit)
			return true;
	}
	return pp_subs_discard(s, start, length);
}

#endif
