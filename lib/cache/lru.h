/* SPDX-License-Identifier: MIT */
/*
 * Who goes next. Readers stamp entries with the time and touch no list; an
 * entry whose stamp has changed since it was queued is queued again, by its
 * stamp, when it comes to the front.
 *
 * Whether nobody uses an entry takes a heavy fence to tell. So the next few are
 * made COLD together, with one fence: who wants one afterwards makes it LIVE
 * again first, by itself. What is COLD still is unused, and to evict it is to
 * make it DEAD in its place, which succeeds for one of the two.
 */
#ifndef PP_LRU_H
#define PP_LRU_H

#include "reader.h"

/** struct pp_list - of entries, by @prev and @next */
struct pp_list {
	uint32_t first;
	uint32_t last;
	uint32_t count;
};

/** struct pp_lru - @warm: LIVE. @cold: COLD, or LIVE again since. Both oldest first */
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

/* a LIVE entry, used now */
void pp_lru_add(struct pp_lru *lru, const struct pp_pool *pool, struct pp_entry *e);

/* Due every PP_LRU_SPAN ticks: ages are told apart up to 2^31 of them, and what is older than a span is that old. */
enum { PP_LRU_SPAN = 1 << 29 };
void pp_lru_age(struct pp_lru *lru, const struct pp_pool *pool, uint32_t now);

/* an entry that was added and not taken */
void pp_lru_remove(struct pp_lru *lru, const struct pp_pool *pool, struct pp_entry *e);

/*
 * The unused entry that was used least recently, if that was not after @than:
 * removed, and DEAD. NULL: there is none.
 */
struct pp_entry *pp_lru_take(struct pp_lru *lru, const struct pp_pool *pool, struct pp_readers *readers,
			     uint32_t now, uint32_t than);

#endif
