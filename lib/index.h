/* SPDX-License-Identifier: MIT */
/*
 * Ranges of addresses that do not overlap, in order. A sorted array: a cache
 * holds tens to thousands of entries, and moving their pointers costs nothing
 * beside the pin that precedes an insertion.
 */
#ifndef PP_INDEX_H
#define PP_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** struct pp_range - [start, end) */
struct pp_range {
	uint64_t start;
	uint64_t end;
};

/** struct pp_index - zero-initialise; its user provides the lock */
struct pp_index {
	struct pp_range **at;
	size_t count;
	size_t room;
};

static inline bool pp_range_covers(const struct pp_range *a,
				   const struct pp_range *b)
{
	return a->start <= b->start && b->end <= a->end;
}

static inline bool pp_range_overlaps(const struct pp_range *a,
				     const struct pp_range *b)
{
	return a->start < b->end && b->start < a->end;
}

/* The lowest range that overlaps @want, or NULL. */
struct pp_range *pp_index_first(const struct pp_index *x,
				const struct pp_range *want);

/* The range after @item that overlaps @want, or NULL. */
struct pp_range *pp_index_next(const struct pp_index *x,
			       const struct pp_range *item,
			       const struct pp_range *want);

/* 0 or -ENOMEM. @item must overlap none; it may be narrowed while in here. */
int pp_index_insert(struct pp_index *x, struct pp_range *item);

void pp_index_remove(struct pp_index *x, struct pp_range *item);

void pp_index_free(struct pp_index *x);

#endif
