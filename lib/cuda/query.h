/* SPDX-License-Identifier: MIT */
/* Queries about an address for the library's own use, beyond pp_query(). */
#ifndef PP_QUERY_H
#define PP_QUERY_H

#include "libpeerpin.h"

/**
 * pp_query_provider - pp_query(), and the provider that is to pin the memory
 *
 * Returns an enum peerpin_provider. It is not AUTO if CUDA knows the address: a
 * freed small allocation still lies in a block that the GPU driver would pin, and
 * only CUDA knows that the address has no owner any more.
 */
unsigned int pp_query_provider(const void *addr, struct pp_mem *out);

/* CUDA's id of the allocation at @addr, 0 if there is none. One CUDA call. */
uint64_t pp_query_buffer_id(uint64_t addr);

#endif
