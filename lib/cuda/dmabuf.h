/* SPDX-License-Identifier: MIT */
#ifndef PP_DMABUF_H
#define PP_DMABUF_H

#include <stdbool.h>
#include "libpeerpin.h"

/** struct pp_export - a dma-buf and CUDA's id of the allocation at @at, which it is of */
struct pp_export {
	struct pp_dmabuf pub;	/* first, as pp_cache_create_dmabuf() promises */
	uint64_t at;
	uint64_t buffer_id;
};

/* Is there a driver that exports any? */
bool pp_export_can(void);

/* As struct pp_cache_ops.grow: to the whole allocation */
int pp_export_grow(void *unused, uint64_t *addr, uint64_t *length);

/* pp_dmabuf_export() to the letter, but that @why is not NULL */
int pp_export_make(uint64_t addr, uint64_t length, struct pp_export *out, struct pp_why *why);

#endif
