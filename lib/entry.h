/* SPDX-License-Identifier: MIT */
/* Entries of the registration cache; regcache.c has the argument. */
#ifndef PP_ENTRY_H
#define PP_ENTRY_H

#include <pthread.h>
#include <sys/queue.h>
#include "index.h"
#include "libpeerpin.h"

#define pp_container_of(ptr, type, member) \
	((type *)((char *)(ptr) - offsetof(type, member)))

/**
 * struct pp_entry
 * @pub: what the users see; fixed once it is not pending
 * @range: its place in the index; like @pub, but valid from the beginning
 * @link: in the LRU list or a doomed list
 * @leaving: in the cache's list of that name
 * @stamp: time at which it became idle or doomed
 * @users: gets that have not been put
 */
struct pp_entry {
	struct pp_cache_entry pub;
	struct pp_range range;
	TAILQ_ENTRY(pp_entry) link;
	TAILQ_ENTRY(pp_entry) leaving;
	uint64_t stamp;
	unsigned int users;
	bool indexed;
	bool pending;
};

TAILQ_HEAD(pp_entries, pp_entry);

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
 * struct pp_cache
 * @mark: process it belongs to (process.h)
 * @changed: an entry stopped being pending, or an unpin ended
 * @idle: LRU list, oldest first
 * @leaving: entries whose unpin has not ended, in the order they were doomed
 * @doomed: how many those are; their bytes
 * @used_bytes: of entries that have users, pending ones included
 * @clock: ticks whenever an entry becomes idle or doomed
 */
struct pp_cache {
	struct pp_cache_ops ops;
	void *arg;
	struct pp_cache_attr attr;
	struct pp_ctx *ctx;
	uint64_t mark;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct pp_index index;
	struct pp_entries idle;
	struct pp_entries leaving;
	uint64_t doomed;
	uint64_t doomed_bytes;
	uint64_t used_bytes;
	uint64_t clock;
	struct pp_refusal refusal;
	struct pp_cache_stats stats;
};

static inline struct pp_entry *pp_entry_of(struct pp_range *range)
{
	return range ? pp_container_of(range, struct pp_entry, range) : NULL;
}

static inline uint64_t pp_range_length(const struct pp_range *range)
{
	return range->end - range->start;
}

/* All but the last are called with @lock held. */

/* From before its pin to its end an entry counts against the budget. */
void pp_entry_count(struct pp_cache *c, const struct pp_entry *e);
void pp_entry_discount(struct pp_cache *c, const struct pp_entry *e);

/* Out of the index; unless it is in use, to @doomed. */
void pp_entry_detach(struct pp_cache *c, struct pp_entry *e,
		     struct pp_entries *doomed);

/* One user more, of an indexed entry that is not pending. */
void pp_entry_use(struct pp_cache *c, struct pp_entry *e);

/* One user less; the last one makes it idle or, when detached, doomed. */
void pp_entry_unuse(struct pp_cache *c, struct pp_entry *e,
		    struct pp_entries *doomed);

/* Detach the idle entry used least recently; false: there is none. */
bool pp_entry_evict(struct pp_cache *c, struct pp_entries *doomed);

/* Evict until the budget holds or nothing is idle. */
void pp_entries_trim(struct pp_cache *c, struct pp_entries *doomed);

/* Detach all that overlaps a range. */
void pp_entries_detach(struct pp_cache *c, const struct pp_range *range,
		       struct pp_entries *doomed);

/* Unpin and free what is doomed. Without @lock; never while waiting for it. */
void pp_entries_unpin(struct pp_cache *c, struct pp_entries *doomed);

#endif
