/* SPDX-License-Identifier: MIT */
/* The cache's parts together, and how an entry leaves it. */
#ifndef PP_CACHE_H
#define PP_CACHE_H

#include <pthread.h>
#include "index.h"
#include "lru.h"
#include "publish.h"
#include "reader.h"

/**
 * struct pp_refusal - a whole allocation found no room; trying again may empty
 *	the cache in vain, so it is done seldom (room.c)
 * @length: shortest that was refused; UINT64_MAX: none
 * @beside: bytes that were in use beside it
 * @until: count of misses from which on it is tried again
 * @patience: misses to wait after the next refusal
 */
struct pp_refusal {
	uint64_t length;
	uint64_t beside;
	uint64_t until;
	uint64_t patience;
};

/**
 * struct pp_cache - readers use what comes first, and write none of it
 * @mark: process it belongs to (process.h)
 * @clock: time that readers stamp entries with; ticks at each miss
 * @over: the budget does not hold, as what exceeds it is in use: who puts
 *	something calls pp_cache_tidy()
 * @left: somebody did, and could not take the lock
 * @lock: protects what follows, and all changes but those of readers
 * @sleep: taken inside @lock; who waits has it alone, so that he gives up @lock as all do (pp_cache_unlock())
 * @changed: an entry stopped being pending, or an unpin ended, with @waiters there
 * @changes: how often; changed with both locks held
 * @waiters: threads in pp_cache_wait()
 * @is_going: NULL, or pp_watch_end() is due: is a range being freed?
 * @no_files: its entries are no descriptors: none is had by giving up one
 * @pending: how many are; read without @lock too
 * @lru: LIVE and COLD entries
 * @gone: GONE ones
 * @leaving: DEAD ones, in the order they were doomed
 * @leaving_bytes: their bytes
 * @doom: how many were ever doomed
 * @stats: @hits: those of threads without words
 * @published: NULL, or where others look, and @told what that has of @stats
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

/* All but the last two are called with @lock held; pp_cache_unlock() gives it up, and pp_cache_wait() for a while. */

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

/* From before its pin to its end an entry counts against the budget. */
void pp_cache_count(struct pp_cache *c, const struct pp_entry *e);
void pp_cache_discount(struct pp_cache *c, const struct pp_entry *e);

/* An entry that is neither in the index nor in the LRU list, for its users only */
void pp_cache_set_gone(struct pp_cache *c, struct pp_entry *e);

/* A GONE entry, if nobody uses it any more: to @doomed. After pp_fence_heavy(). */
void pp_cache_doom_unused(struct pp_cache *c, struct pp_entry *e, struct pp_doomed *doomed);

/* Forget an entry that is in the index; unless it is in use, to @doomed. */
void pp_cache_forget(struct pp_cache *c, struct pp_entry *e, struct pp_doomed *doomed);

/* Forget all that overlap a range, but @but. */
void pp_cache_forget_range(struct pp_cache *c, const struct pp_range *range, const struct pp_entry *but,
			   struct pp_doomed *doomed);

/* Evict the idle entry used least recently, if not after @than; false: there is none. */
bool pp_cache_evict(struct pp_cache *c, uint32_t than, struct pp_doomed *doomed);

/* Evict until the budget holds or nothing is idle. */
void pp_cache_trim(struct pp_cache *c, struct pp_doomed *doomed);

/* What was put while another thread had the lock: to @doomed if nobody uses it any more, then trim. */
void pp_cache_sweep(struct pp_cache *c, struct pp_doomed *doomed);

/* Bytes of entries that are in use or being pinned; looks at each. */
uint64_t pp_cache_bytes_in_use(struct pp_cache *c);

/*
 * Unlocks, and unpins @doomed (NULL: none); not while another waits for that. A
 * reader must not wait for the lock's holder, who may be stopped: so who holds
 * it does here what readers have left to do.
 */
void pp_cache_unlock(struct pp_cache *c, struct pp_doomed *doomed);

/* Wait for a change. Its caller has doomed nothing that is still to be unpinned. */
void pp_cache_wait(struct pp_cache *c);
void pp_cache_changed(struct pp_cache *c);

/* How many of the callbacks that take their time the calling thread is in, of any caches */
extern PP_HIDDEN __thread unsigned int pp_cache_callbacks __attribute__((tls_model("initial-exec")));

/*
 * Without @lock: wait for the unpins of what was doomed before @by and overlaps a
 * range. Not in a callback, which may be the very one, or have what that waits for.
 */
void pp_cache_await_unpins(struct pp_cache *c, const struct pp_range *range, uint32_t by);

/*
 * The calling thread has put something that nobody may use any more, or while
 * the cache was over its budget: unpin what can be. Does not wait for the lock.
 */
void pp_cache_tidy(struct pp_cache *c);

#endif
