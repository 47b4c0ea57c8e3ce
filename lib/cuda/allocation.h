/* SPDX-License-Identifier: MIT */
/* GPU allocations, for the registration caches. */
#ifndef PP_ALLOCATION_H
#define PP_ALLOCATION_H

#include <stdbool.h>
#include "libpeerpin.h"

/*
 * Can the allocation be freed without freeing a block of GPU memory? Other allocations
 * may remain in its block, or the block returns to a pool. Such a free revokes nothing.
 */
bool pp_allocation_shares_block(const struct pp_mem *mem);

/* Does the range lie within the allocation? */
bool pp_allocation_holds(const struct pp_mem *mem, uint64_t addr, uint64_t length);

/* Widen a range to the whole allocation, if it lies within the allocation. */
void pp_allocation_grow(const struct pp_mem *mem, uint64_t *addr, uint64_t *length);

/*
 * After a refused pin: sets the reason if CUDA's answer @mem is the cause. Call it only for a
 * failure, because it asks CUDA.
 */
void pp_allocation_explain(const struct pp_mem *mem, uint64_t addr, uint64_t length, struct pp_why *why);

/*
 * Call it before a peer may use a range. Sets SYNC_MEMOPS on GPU memory at each
 * registration: a record of the allocations that already have it would cost more.
 * Returns -EINVAL and @why for managed memory, and for a range that does not lie in
 * one allocation any more.
 */
int pp_allocation_prepare(const struct pp_mem *mem, uint64_t addr, uint64_t length, struct pp_why *why);

#endif
