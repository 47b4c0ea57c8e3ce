/* SPDX-License-Identifier: MIT */
#ifndef PP_RANGE_H
#define PP_RANGE_H

#include <stdbool.h>
#include <stdint.h>

/** struct pp_range - [start, end) */
struct pp_range {
	uint64_t start;
	uint64_t end;
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

static inline uint64_t pp_range_length(const struct pp_range *range)
{
	return range->end - range->start;
}

#endif
