/* SPDX-License-Identifier: MIT */
/* All parts of the registration cache, and how an entry leaves it. */
#ifndef PP_CACHE_H
#define PP_CACHE_H

#include <pthread.h>
#include "index.h"
#include "lru.h"
#include "publish.h"
#include "reader.h"

/**
 * struct pp_refusal - a whole allocation found no room; a retry may empty the
 *	cache in vain, so retries are rare (room.c)
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
 * struct pp_cache - readers use the fields before @lock, and write none of them
 * @mark: process that the cache belongs to (process.h)
 * @clock: time that readers stamp entries with; ticks at each miss
 * @over: entries in use exceed the budget: each put calls pp_cache_tidy()
 * @left: pp_cache_tidy() was called and could not take the lock
 * @lock: protects the fields below, and all changes but those of readers
 * @sleep: taken inside @lock; a waiting thread holds @sleep only, after pp_cache_unlock()
 * @changed: an entry stopped being pending, or an unpin ended; signalled if there are @waiters
 * @changes: count of these signals; changed with both locks held
 * @waiters: threads in pp_cache_wait()
 * @is_going: NULL, or: is a range being freed? Then the cache has to call pp_watch_end()
 * @no_files: its entries have no file descriptors: evicting one frees none
 * @pending: number of PENDING and ORPHAN entries; also read without @lock
 * @lru: LIVE and COLD entries
 * @gone: GONE entries
 * @leaving: DEAD entries, in the order they were doomed
 * @leaving_bytes: their bytes
 * @doom: count of all entries ever doomed
 * @hits: hits of threads without words of their own
 * @published: NULL, or statistics that other processes read
 * @told: the part of @stats that @published already has
 */
struct pp_cache {
	struct pp_cache_ops ops;
	void *arg;
	uint64_t mark;
	struct pp_pool pool;
	struct pp_index index;
	struct pp_readers readers;
	_Atomic uint32_t clock;
	_Atomic bool over;
	_Atomic bool left;

	alignas(128) pthread_mutex_t lock;
	pthread_mutex_t sleep;
	pthread_cond_t changed;
	uint64_t changes;
	unsigned int waiters;
	struct pp_cache_attr attr;
	struct pp_ctx *ctx;
	int (*is_going)(uint64_t addr, uint64_t length);
	bool no_files;
	_Atomic unsigned int pending;
	struct pp_lru lru;
	struct pp_list gone;
	struct pp_list leaving;
	uint64_t leaving_bytes;
	uint32_t doom;
	struct pp_refusal refusal;
	struct pp_cache_stats stats;
	_Atomic uint64_t hits;
	struct pp_published *published;
	struct pp_cache_stats told;
};

/** struct pp_doomed - @count entries, of @bytes together, that the calling thread has to unpin */
struct pp_doomed {
	uint32_t first;
	uint32_t count;
	uint64_t bytes;
};

#define PP_NONE_DOOMED { PP_NO_ENTRY }

/*
 * All functions but the last two are called with @lock held. pp_cache_unlock() drops it; pp_cache_wait()
 * drops it and takes it again.
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

/* An entry counts against the budget from before its pin until it is DEAD. */
void pp_cache_count(struct pp_cache *c, const struct pp_entry *e);
void pp_cache_discount(struct pp_cache *c, const struct pp_entry *e);

/* For an entry that is neither in the index nor in the LRU lists: only its present users still use it. */
void pp_cache_set_gone(struct pp_cache *c, struct pp_entry *e);

/* Move a GONE entry to @doomed if it has no users. After pp_fence_heavy(). */
void pp_cache_doom_unused(struct pp_cache *c, struct pp_entry *e, struct pp_doomed *doomed);

/* Remove an entry from the index; unless it is in use, move it to @doomed. */
void pp_cache_forget(struct pp_cache *c, struct pp_entry *e, struct pp_doomed *doomed);

/* Forget all entries that overlap a range, except @but. */
void pp_cache_forget_range(struct pp_cache *c, const struct pp_range *range, const struct pp_entry *but,
			   struct pp_doomed *doomed);

/* Evict the least recently used idle entry, if not used after @than. Returns false if there is none. */
bool pp_cache_evict(struct pp_cache *c, uint32_t than, struct pp_doomed *doomed);

/* Evict until the budget holds or nothing is idle. */
void pp_cache_trim(struct pp_cache *c, struct pp_doomed *doomed);

/* Work left by pp_cache_tidy() while another thread had the lock: unused GONE entries to @doomed, then trim. */
void pp_cache_sweep(struct pp_cache *c, struct pp_doomed *doomed);

/* Bytes of entries that are in use or being pinned. Slow: looks at each entry. */
uint64_t pp_cache_bytes_in_use(struct pp_cache *c);

/*
 * Unlocks, then unpins @doomed (NULL: none). A reader must not wait for the
 * holder of the lock, which may be preempted. So the holder does here the work
 * that readers left (@left).
 */
void pp_cache_unlock(struct pp_cache *c, struct pp_doomed *doomed);

/* Wait for a change. The caller has no doomed entries left to unpin. */
void pp_cache_wait(struct pp_cache *c);
void pp_cache_changed(struct pp_cache *c);

/* Depth of slow callbacks (pin, unpin) that the calling thread is in, of any cache */
extern PP_HIDDEN __thread unsigned int pp_cache_callbacks __attribute__((tls_model("initial-exec")));

/*
 * Without @lock: wait for the unpins of entries that were doomed up to @by and
 * overlap a range. Does not wait in a callback, which may be that very unpin, or
 * hold a lock that the unpin needs.
 */
void pp_cache_await_unpins(struct pp_cache *c, const struct pp_range *range, uint32_t by);

/*
 * The calling thread has put a GONE entry, or any entry while the budget was
 * exceeded. Unpins unused entries. Does not wait for the lock.
 */
void pp_cache_tidy(struct pp_cache *c);

#endif
