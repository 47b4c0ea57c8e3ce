/* SPDX-License-Identifier: MIT */
/* GPU allocations, as caches see them. */
#ifndef PP_ALLOCATION_H
#define PP_ALLOCATION_H

#include <stdbool.h>
#include "libpeerpin.h"

/*
 * May freeing it free no block of the GPU's memory, and so revoke nothing? Others
 * may be left in its block, or it goes back to a pool.
 */
bool pp_allocation_shares_block(const struct pp_mem *mem);

/* Widen a range within it to all of it; one that reaches beyond stays as it is. */
void pp_allocation_grow(const struct pp_mem *mem, uint64_t *addr, uint64_t *length);

/*
 * Before a peer may use a range: GPU memory gets SYNC_MEMOPS, as often as it is
 * registered, for that costs less than remembering which has it. Managed memory,
 * and a range that is not one allocation's any more, are -EINVAL, with @why.
 */
int pp_allocation_prepare(const struct pp_mem *mem, uint64_t addr, uint64_t length, struct pp_why *why);

#endif
