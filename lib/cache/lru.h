/* SPDX-License-Identifier: MIT */
/*
 * The order in which entries are evicted. Readers stamp entries with the time and
 * touch no list. When an entry comes to the front and its stamp has changed since
 * it was queued, it is queued again, by its stamp.
 *
 * The proof that an entry is unused needs a heavy fence. So the next few entries
 * are made COLD together, with one fence. COLD entries that are in use become LIVE
 * again. A reader makes a COLD entry LIVE before use, so an entry that stays COLD
 * is unused. Eviction makes the entry EVICTED. Both changes are compare-and-swap:
 * either the reader succeeds or the eviction.
 */
#ifndef PP_LRU_H
#define PP_LRU_H

#include "reader.h"

/** struct pp_list - list of entries, linked by their @prev and @next */
struct pp_list {
	uint32_t first;
	uint32_t last;
	uint32_t count;
};

/** struct pp_lru - oldest entries first. @warm: LIVE entries; @cold: entries that are or were COLD */
struct pp_lru {
	struct pp_list warm;
	struct pp_list cold;
};

void pp_list_init(struct pp_list *list);
void pp_list_append(struct pp_list *list, const struct pp_pool *pool, struct pp_entry *e);
void pp_list_remove(struct pp_list *list, const struct pp_pool *pool, struct pp_entry *e);

static inline struct pp_entry *pp_list_first(const struct pp_list *list, const struct pp_pool *pool)
{
	return list->count ? pp_entry_at(pool, list->first) : NULL;
}

void pp_lru_init(struct pp_lru *lru);

/* @e: LIVE, used now */
void pp_lru_add(struct pp_lru *lru, const struct pp_pool *pool, struct pp_entry *e);

/*
 * Call every PP_LRU_SPAN ticks. The comparison of stamps works up to an age of 2^31
 * ticks, so an age above PP_LRU_SPAN is set to PP_LRU_SPAN.
 */
enum { PP_LRU_SPAN = 1 << 29 };
void pp_lru_age(struct pp_lru *lru, const struct pp_pool *pool, uint32_t now);

/* @e: in one of the lists */
void pp_lru_remove(struct pp_lru *lru, const struct pp_pool *pool, struct pp_entry *e);

/*
 * Remove the least recently used entry that has no users and was not used after
 * @than, and make it EVICTED. Returns NULL if there is none.
 */
struct pp_entry *pp_lru_take(struct pp_lru *lru, const struct pp_pool *pool, struct pp_readers *readers,
			     uint32_t now, uint32_t than);

/* Make the LIVE or COLD entry @e EVICTED and remove it. Returns false if it has users, or a reader gets it meanwhile. */
bool pp_lru_take_this(struct pp_lru *lru, const struct pp_pool *pool, struct pp_readers *readers, struct pp_entry *e);

#endif
