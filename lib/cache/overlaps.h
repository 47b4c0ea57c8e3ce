/* SPDX-License-Identifier: MIT */
/* All entries of an index that overlap a range, for the one who may change it. */
#ifndef PP_OVERLAPS_H
#define PP_OVERLAPS_H

#include "index.h"

/**
 * struct pp_overlaps - a walk over the entries that overlap a range
 * @all: by the pool: there are less entries than granules to look into
 * @larger: first come the classes that are larger than blocks
 * @part: of the range, which is looked at now: all of it for these, then block
 *	by block for the others
 * @classes: still to come there, with the current one
 * @granule: the current one
 * @key: of that, with the bucket that its search has come to
 * @match: slots there that are still to come
 * @left: buckets that it may go on to
 * @at: entry of the pool that comes next, if @all
 *
 * The one that was seen last may be removed.
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
