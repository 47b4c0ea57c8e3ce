/* SPDX-License-Identifier: MIT */
/* What the library itself wants to know of an address, beyond pp_query(). */
#ifndef PP_QUERY_H
#define PP_QUERY_H

#include "libpeerpin.h"

/**
 * pp_query_provider - pp_query(), and who is to be asked to pin it
 *
 * Returns an enum peerpin_provider. It is not AUTO where CUDA has spoken: the
 * address of a small allocation that was freed still lies in a block the GPU
 * driver would pin, and only CUDA knows that nobody owns it any more.
 */
unsigned int pp_query_provider(const void *addr, struct pp_mem *out);

/* CUDA's id of the allocation at @addr, 0 when there is none. One CUDA call. */
uint64_t pp_query_buffer_id(uint64_t addr);

#endif
