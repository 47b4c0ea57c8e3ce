/* SPDX-License-Identifier: MIT */
#ifndef PP_DMABUF_H
#define PP_DMABUF_H

#include <stdbool.h>
#include "libpeerpin.h"

/** struct pp_export - a dma-buf. @at: an address in its allocation; @buffer_id: CUDA's id of the allocation */
struct pp_export {
	struct pp_dmabuf pub;	/* the first field: @reg of a cache entry points to it */
	uint64_t at;
	uint64_t buffer_id;
};

/* Does the loaded CUDA driver export dma-bufs? */
bool pp_export_can(void);

/* @grow of struct pp_cache_ops: widens to the whole allocation */
int pp_export_grow(void *unused, uint64_t *addr, uint64_t *length);

/* As pp_dmabuf_export_mapped(), but @why must not be NULL, @length must not be 0, and @mapping is valid */
int pp_export_make(uint64_t addr, uint64_t length, uint32_t mapping, struct pp_export *out, struct pp_why *why);

#endif
