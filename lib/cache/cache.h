/* SPDX-License-Identifier: MIT */
/* The registration cache with all its parts, and the ways in which an entry leaves the cache. */
#ifndef PP_CACHE_H
#define PP_CACHE_H

#include <pthread.h>
#include "index.h"
#include "lru.h"
#include "publish.h"
#include "reader.h"
#include "wait.h"

/**
 * struct pp_refusal - pins of whole allocations that found no room. A retry may
 *	empty the cache and still fail, so retries are rare (room.c)
 * @length: length of the shortest refused allocation; UINT64_MAX: none
 * @beside: bytes of other entries in use at the refusal
 * @until: count of misses at which to retry
 * @patience: misses to wait after the next refusal
 */
struct pp_refusal {
	uint64_t length;
	uint64_t beside;
	uint64_t until;
	uint64_t patience;
};

/**
 * struct pp_cache - a registration cache; a usual hit reads only the fields before @lock. A miss writes to
 *	many of the fields that a usual hit reads. So all of these fields but @readers are in one cache line
 * @mark: process that the cache belongs to (process.h)
 * @clock: time that readers stamp entries with; ticks at each miss
 * @over: entries in use exceed the budget: each put calls pp_cache_tidy()
 * @left: the holder of @lock must call pp_cache_sweep() after its unlock
 * @done: a stack of entries after their pin or unpin (done.h): the index of the first entry, or PP_NO_ENTRY. Any thread
 *	adds an entry; the holder of @lock takes all
 * @lock: protects the fields below, and all fields above from changes by other writers
 * @waiters: threads that wait; they have dropped @lock
 * @is_going: pp_hook_is_going() if the hook reports frees to this cache, else NULL
 * @no_files: entries have no file descriptors, so evicting an entry frees no descriptor
 * @pending: number of PENDING and ORPHAN entries; also read without @lock
 * @lru: LIVE and COLD entries
 * @gone: GONE entries
 * @leaving: EVICTED and DEAD entries, in the order they were doomed
 * @doom: number of entries that ever came into @leaving
 * @hits: hits of threads without words of their own (reader.h)
 * @none_is_idle: entries in use exceed the budget, and each put since the last search has evicted the entry that it made
 *	idle, or left that to the sweep
 * @swept: index of the entry that a miss checked last (regcache.c)
 * @pins_are_short: the pin that was timed last took less than PP_SHORT_PIN_NS
 * @published: NULL, or statistics that other processes read
 * @told: value of @stats at the last update of @published
 * @pinned: number of registrations that exist or are being made; 0 without max_entries. @pinned_bytes: their bytes; 0
 *	without max_bytes. A PENDING entry does not count while its thread still unpins other entries
 */
struct pp_cache {
	alignas(64) struct pp_pool pool;
	_Atomic uint32_t clock;
	_Atomic bool over;
	_Atomic bool left;
	struct pp_index index;
	struct pp_readers readers;
	struct pp_cache_ops ops;
	void *arg;
	uint64_t mark;

	alignas(128) pthread_mutex_t lock;
	struct pp_waiters waiters;
	struct pp_cache_attr attr;
	struct pp_ctx *ctx;
	int (*is_going)(uint64_t addr, uint64_t length);
	bool no_files;
	_Atomic unsigned int pending;
	struct pp_lru lru;
	struct pp_list gone;
	struct pp_list leaving;
	uint32_t doom;
	struct pp_refusal refusal;
	uint32_t swept;
	bool none_is_idle;
	bool pins_are_short;
	struct pp_cache_stats stats;
	_Atomic uint64_t hits;
	struct pp_published *published;
	struct pp_cache_stats told;
	alignas(64) _Atomic uint64_t pinned;
	_Atomic uint32_t done;
	_Atomic uint64_t pinned_bytes;
};

_Static_assert(offsetof(struct pp_cache, index.use) == 64, "what a hit reads is in one cache line");

enum { PP_SHORT_PIN_NS = 4096 };	/* a pin that takes less is short */

/** struct pp_doomed - EVICTED and DEAD entries that the calling thread has to unpin: @count of them */
struct pp_doomed {
	uint32_t first;
	uint32_t count;
};

#define PP_NONE_DOOMED { PP_NO_ENTRY }

/*
 * Called with @lock held, except pp_cache_lock(), pp_cache_await_unpins(), pp_cache_tidy() and pp_cache_leave_work().
 * pp_cache_unlock() drops @lock; the functions that wait drop @lock and take it again.
 */

static inline uint32_t pp_cache_now(struct pp_cache *c)
{
	return atomic_load_explicit(&c->clock, memory_order_relaxed);
}

static inline void pp_cache_tick(struct pp_cache *c)
{
	uint32_t now = pp_cache_now(c) + 1;

	atomic_store_explicit(&c->clock, now, memory_order_relaxed);
	if (__builtin_expect(!(now % PP_LRU_SPAN), 0))
		pp_lru_age(&c->lru, &c->pool, now);
}

/* Under @lock. A load and a store, because a read-modify-write of an atomic costs several nanoseconds. */
static inline void pp_cache_count_pending(struct pp_cache *c, int by)
{
	unsigned int now = atomic_load_explicit(&c->pending, memory_order_relaxed);

	atomic_store_explicit(&c->pending, now + by, memory_order_relaxed);
}

/* An entry counts against the budget from before its pin until it is DEAD. */
void pp_cache_count(struct pp_cache *c, const struct pp_entry *e);
void pp_cache_discount(struct pp_cache *c, const struct pp_entry *e);

/* The entry becomes GONE: it gets no new users. It must be in neither the index nor an LRU list. */
void pp_cache_set_gone(struct pp_cache *c, struct pp_entry *e);

/* After pp_fence_heavy() and pp_readers_count(): move a GONE entry to @doomed if it has no users. */
void pp_cache_doom_unused(struct pp_cache *c, struct pp_entry *e, struct pp_doomed *doomed);

/* Remove an entry from the index. If it is unused, move it to @doomed. */
void pp_cache_forget(struct pp_cache *c, struct pp_entry *e, struct pp_doomed *doomed);

/* Forget all entries that overlap a range, except @but. */
void pp_cache_forget_range(struct pp_cache *c, const struct pp_range *range, const struct pp_entry *but,
			   struct pp_doomed *doomed);

/* Evict the least recently used idle entry. Returns false if all idle entries were used after @than. */
bool pp_cache_evict(struct pp_cache *c, uint32_t than, struct pp_doomed *doomed);

/* Evict all idle entries, and remove them from the index now. */
void pp_cache_evict_all(struct pp_cache *c, struct pp_doomed *doomed);

/* For a miss: evict until the budget holds or no entry is idle. */
void pp_cache_trim(struct pp_cache *c, struct pp_doomed *doomed);

/* Do the work that pp_cache_leave_work() left to the holder of the lock: move unused GONE entries to @doomed, trim. */
void pp_cache_sweep(struct pp_cache *c, struct pp_doomed *doomed);

/* Bytes of entries that are in use or being pinned. Slow: looks at each entry. */
uint64_t pp_cache_bytes_in_use(struct pp_cache *c);

/* Lock, and finish the entries in @done. */
void pp_cache_lock(struct pp_cache *c);

/*
 * Unlock, do the work that readers left (@left), then unpin @doomed (NULL: none).
 * A reader leaves its work to the holder of the lock: the holder may be preempted,
 * and the reader must not wait.
 */
void pp_cache_unlock(struct pp_cache *c, struct pp_doomed *doomed);

/*
 * Wait until a PENDING entry changes, or an EVICTED or DEAD entry is unpinned. The caller has no doomed entries left to unpin.
 * pp_cache_changed() ends these waits.
 */
void pp_cache_wait(struct pp_cache *c, struct pp_entry *e);
void pp_cache_changed(struct pp_cache *c, struct pp_entry *e);

/* Unlock, sleep until the wait has ended, lock. The waiter is in a list of @waiters. */
void pp_cache_sleep(struct pp_cache *c, struct pp_waiter *w);

/* Number of pin and unpin callbacks, of all caches, that run in the calling thread (they may nest) */
extern PP_HIDDEN __thread unsigned int pp_cache_callbacks __attribute__((tls_model("initial-exec")));

/*
 * Wait for the unpins of entries that overlap a range and were among the first @by
 * doomed entries. Does not wait inside a callback: the callback may be that unpin,
 * or hold a lock that the unpin needs.
 */
void pp_cache_await_unpins(struct pp_cache *c, const struct pp_range *range, uint32_t by);

/* After the put of @e, if it is GONE or the budget is exceeded: unpin @e if it is unused. Does not wait for the lock. */
void pp_cache_tidy(struct pp_cache *c, struct pp_entry *e);

/* Unpin all unused GONE entries, and trim. If another thread holds the lock, that thread does it when it unlocks. */
void pp_cache_leave_work(struct pp_cache *c);

#endif
