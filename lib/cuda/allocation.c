// SPDX-License-Identifier: MIT
#include <errno.h>
#include <linux/types.h>
#include <peerpin.h>
#include "allocation.h"
#include "why.h"

/* The CUDA driver allocates memory in such blocks; smaller allocations share a block. */
#define BLOCK_SIZE (2u << 20)

static bool contains(const struct pp_mem *mem, uint64_t addr, uint64_t length)
{
	return addr >= mem->base && length <= mem->size &&
	       addr - mem->base <= mem->size - length;
}

bool pp_allocation_shares_block(const struct pp_mem *mem)
{
	return mem->kind == PP_MEM_GPU &&
	       (mem->pooled || mem->base % BLOCK_SIZE || mem->size % BLOCK_SIZE);
}

void pp_allocation_grow(const struct pp_mem *mem, uint64_t *addr, uint64_t *length)
{
	if (!contains(mem, *addr, *length))
		return;
	*addr = mem->base;
	*length = mem->size;
}

int pp_allocation_prepare(const struct pp_mem *mem, uint64_t addr, uint64_t length, struct pp_why *why)
{
	int sync;

	if (mem->kind == PP_MEM_HOST)
		return 0;
	if (mem->kind == PP_MEM_MANAGED)
		return pp_refuse(why, PEERPIN_REASON_MANAGED, -EINVAL);
	sync = pp_sync_memops((const void *)(uintptr_t)addr);
	/* memory mapped with cuMemMap() does not support SYNC_MEMOPS */
	if (!contains(mem, addr, length) || (sync && sync != -EOPNOTSUPP))
		return pp_refuse(why, PEERPIN_REASON_VENDOR_REFUSED, -EINVAL);
	return 0;
}
