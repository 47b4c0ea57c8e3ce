// SPDX-License-Identifier: MIT
#include <errno.h>
#include <linux/types.h>
#include <peerpin.h>
#include "allocation.h"
#include "query.h"
#include "why.h"

/* The CUDA driver allocates memory in such blocks; smaller allocations share a block. */
#define BLOCK_SIZE (2u << 20)

bool pp_allocation_holds(const struct pp_mem *mem, uint64_t addr, uint64_t length)
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
	if (!pp_allocation_holds(mem, *addr, *length))
		return;
	*addr = mem->base;
	*length = mem->size;
}

/* Does other GPU memory follow the allocation, for example the next mapping of a reservation? */
static bool is_followed(const struct pp_mem *mem)
{
	struct pp_mem next;

	pp_query_provider((const void *)(uintptr_t)(mem->base + mem->size), &next);
	return next.kind == PP_MEM_GPU;
}

static void explain_range(const struct pp_mem *mem, uint64_t addr, uint64_t length, struct pp_why *why)
{
	if (mem->kind == PP_MEM_GPU && !pp_allocation_holds(mem, addr, length) && is_followed(mem))
		*why = (struct pp_why){ .reason = PEERPIN_REASON_SPANS, .available = mem->base + mem->size };
}

void pp_allocation_explain(const struct pp_mem *mem, uint64_t addr, uint64_t length, struct pp_why *why)
{
	if (mem->kind == PP_MEM_GPU && !mem->rdma)
		*why = (struct pp_why){ .reason = mem->pooled ? PEERPIN_REASON_POOL : PEERPIN_REASON_NOT_RDMA };
	else
		explain_range(mem, addr, length, why);
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
	if (pp_allocation_holds(mem, addr, length) && (!sync || sync == -EOPNOTSUPP))
		return 0;
	pp_refuse(why, PEERPIN_REASON_VENDOR_REFUSED, -EINVAL);
	explain_range(mem, addr, length, why);	/* a dma-buf needs no RDMA capability */
	return -EINVAL;
}
