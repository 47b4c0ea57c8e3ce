/* SPDX-License-Identifier: MIT */
/* Queries about an address for the library's own use, beyond pp_query(). */
#ifndef PP_QUERY_H
#define PP_QUERY_H

#include "libpeerpin.h"

/**
 * pp_query_provider - pp_query(), and the provider that has to pin the memory
 *
 * Returns an enum peerpin_provider: NV for GPU memory, HOST for an address that CUDA
 * does not know, else AUTO. HOST matters after the free of a small allocation: the
 * GPU driver would still pin the block, and only CUDA knows of the free.
 */
unsigned int pp_query_provider(const void *addr, struct pp_mem *out);

/* CUDA's id of the allocation at @addr; 0: no allocation. Makes one CUDA call. */
uint64_t pp_query_buffer_id(uint64_t addr);

#endif
