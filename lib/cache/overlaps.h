/* SPDX-License-Identifier: MIT */
/* All entries of an index that overlap a range. For the thread that holds the cache's lock. */
#ifndef PP_OVERLAPS_H
#define PP_OVERLAPS_H

#include "index.h"

/**
 * struct pp_overlaps - a walk over the entries that overlap a range
 * @all: walk over the whole pool, as it has fewer entries than the range granules
 * @larger: now at the classes larger than blocks, which come first
 * @part: part of the range that is looked at now: all of it for these classes,
 *	then block by block for the others
 * @classes: classes left in @part, including the current one
 * @granule: current granule
 * @key: key of @granule; its bucket moves on with the search
 * @match: slots of that bucket left to look at
 * @left: buckets that the search may still visit
 * @at: next entry of the pool, if @all
 *
 * The entry that was returned last may be removed from the index.
 */
struct pp_overlaps {
	const struct pp_index *index;
	const struct pp_pool *pool;
	struct pp_range range;
	bool all;
	bool larger;
	struct pp_range part;
	uint64_t classes;
	uint64_t granule;
	struct pp_key key;
	uint64_t match;
	uint64_t left;
	uint32_t at;
};

void pp_overlaps_begin(struct pp_overlaps *o, const struct pp_index *x, const struct pp_pool *pool,
		       const struct pp_range *range);
struct pp_entry *pp_overlaps_next(struct pp_overlaps *o);

#endif
