/* SPDX-License-Identifier: MIT */
/* GPU allocations, for the registration caches. */
#ifndef PP_ALLOCATION_H
#define PP_ALLOCATION_H

#include <stdbool.h>
#include "libpeerpin.h"

/*
 * Is it possible that a free of the allocation revokes nothing, as no block of GPU
 * memory is freed? Other allocations may be left in its block, or it returns to a pool.
 */
bool pp_allocation_shares_block(const struct pp_mem *mem);

/* Widen a range to the whole allocation, if it lies within the allocation. */
void pp_allocation_grow(const struct pp_mem *mem, uint64_t *addr, uint64_t *length);

/*
 * Call before a peer may use a range. Sets SYNC_MEMOPS on GPU memory at each
 * registration, as that costs less than to remember which allocations have it.
 * Returns -EINVAL and @why for managed memory, and for a range that does not lie in
 * one allocation any more.
 */
int pp_allocation_prepare(const struct pp_mem *mem, uint64_t addr, uint64_t length, struct pp_why *why);

#endif
