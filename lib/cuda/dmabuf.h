/* SPDX-License-Identifier: MIT */
#ifndef PP_DMABUF_H
#define PP_DMABUF_H

#include <stdbool.h>
#include "libpeerpin.h"

/** struct pp_part - an allocation, or a handle that cuMemMap() mapped. @at: an address in it; @buffer_id: CUDA's id */
struct pp_part {
	uint64_t at;
	uint64_t buffer_id;
};

/**
 * struct pp_export - a dma-buf
 * @pub: the first field, because @reg of a cache entry points to it
 * @count: number of @parts; more than one only for memory of cuMemMap()
 */
struct pp_export {
	struct pp_dmabuf pub;
	size_t count;
	struct pp_part parts[];
};

/* Does the loaded CUDA driver export dma-bufs? */
bool pp_export_can(void);

/* @grow of struct pp_cache_ops: widens to whole allocations */
int pp_export_grow(void *unused, uint64_t *addr, uint64_t *length);

/*
 * As pp_dmabuf_export_mapped(), but @why must not be NULL, @length must not be 0, and @mapping is valid.
 * The caller closes the descriptor and calls free(*@out).
 */
int pp_export_make(uint64_t addr, uint64_t length, uint32_t mapping, struct pp_export **out, struct pp_why *why);

/* Is all memory of the dma-buf still allocated? One CUDA call for each part */
bool pp_export_is_valid(const struct pp_export *e);

#endif
