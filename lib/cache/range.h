/* SPDX-License-Identifier: MIT */
#ifndef PP_RANGE_H
#define PP_RANGE_H

#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

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

/* @grow of struct pp_cache_ops for host memory: whole pages only, as memory around them may be unmapped */
static inline int pp_pages_grow(uint64_t *addr, uint64_t *length)
{
	uint64_t mask = (uint64_t)sysconf(_SC_PAGESIZE) - 1;
	uint64_t end = (*addr + *length + mask) & ~mask;

	if (end < *addr)
		return 0;
	*addr &= ~mask;
	*length = end - *addr;
	return 0;
}

#endif
