/* SPDX-License-Identifier: MIT */
/* All entries of an index that overlap a range. The caller holds the cache's lock. */
#ifndef PP_OVERLAPS_H
#define PP_OVERLAPS_H

#include "index.h"

/**
 * struct pp_line_walk - the entries in lines, which come first in a walk
 * @unit: first unit of the range in the current block; greater than @last: no block is left
 * @last: last unit of the range
 * @line: line of the current block
 * @match: slots left to look at in @line
 */
struct pp_line_walk {
	uint64_t unit;
	uint64_t last;
	const struct pp_line *line;
	uint64_t match;
};

/**
 * struct pp_overlaps - a walk over the entries that overlap a range
 * @all: walk over the whole pool, because the pool has fewer entries than another walk has probes
 * @lines: walk over the lines
 * @larger: the walk is at the classes larger than blocks of 1 GiB, which follow the lines
 * @part: current part of the range: the whole range for the larger classes, then
 *	one block of 1 GiB after another for all smaller classes
 * @chunks: chunks of the block of @part in which entries of the classes are
 * @classes: classes left in @part, including the current class
 * @granule: current granule
 * @key: key of @granule; its bucket moves on with the search
 * @match: slots left to look at in the bucket of @key
 * @left: buckets that the search may still visit
 * @at: next entry of the pool, if @all
 *
 * During the walk the caller may remove the entry that was returned last from the index.
 */
struct pp_overlaps {
	const struct pp_index *index;
	const struct pp_pool *pool;
	struct pp_range range;
	bool all;
	struct pp_line_walk lines;
	bool larger;
	struct pp_range part;
	uint32_t chunks;
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

/*
 * Returns true if no entry overlaps a range. Costs less than a walk, because it looks at no entry, and at a few lines
 * and buckets only. So it may return false though no entry overlaps the range.
 */
bool pp_overlaps_none(const struct pp_index *x, const struct pp_range *range);

#endif
