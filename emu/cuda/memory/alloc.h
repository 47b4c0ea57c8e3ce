/* SPDX-License-Identifier: MIT */
/*
 * alloc: every range of addresses that CUDA knows in this process, of any
 * kind, by address. Where the memory comes from is the matter of heap and vmm.
 */
#ifndef ALLOC_H
#define ALLOC_H

#include "emu/cuda/context/ctx.h"

#include <cuda.h>
#include <stdbool.h>

enum alloc_kind {
	ALLOC_DEVICE,		/* cuMemAlloc() */
	ALLOC_POOL,		/* cuMemAllocAsync() */
	ALLOC_VMM,		/* cuMemMap() */
	ALLOC_HOST,		/* cuMemHostAlloc() */
	ALLOC_REGISTERED,	/* cuMemHostRegister() */
	ALLOC_MANAGED,		/* cuMemAllocManaged() */
};

/**
 * struct alloc_info - an allocation, as it was when it was looked up
 * @kind: who made it
 * @addr: first byte
 * @size: bytes that were asked for
 * @id: CU_POINTER_ATTRIBUTE_BUFFER_ID, never used twice
 * @device: whose memory it is
 * @ctx: where it was allocated; NULL: VMM and POOL belong to no context
 * @pool: of kind POOL
 * @flags: of cuMemHostAlloc() or cuMemHostRegister()
 * @sync_memops: CU_POINTER_ATTRIBUTE_SYNC_MEMOPS
 * @rdma: peers may pin it
 * @access: what copies may do with it; a VMM range at first has none, registered memory may be read-only
 * @range: first byte of what CU_POINTER_ATTRIBUTE_RANGE_START_ADDR says: @addr, but of VMM the reservation
 * @range_size: bytes of it
 * @mapping: address of the memory it is part of
 * @mapping_size: of that memory
 * @mapping_id: CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID, never used twice
 */
struct alloc_info {
	enum alloc_kind kind;
	CUdeviceptr addr;
	size_t size;
	unsigned long long id;
	CUdevice device;
	struct CUctx_st *ctx;
	struct CUmemPoolHandle_st *pool;
	unsigned int flags;
	bool sync_memops;
	bool rdma;
	CUmemAccess_flags access;
	CUdeviceptr range;
	size_t range_size;
	CUdeviceptr mapping;
	size_t mapping_size;
	unsigned long long mapping_id;
};

/* alloc_kind_on_cpu, alloc_on_cpu - it is reached by the CPU at its address, not by the GPU's copy engine */
static inline bool alloc_kind_on_cpu(enum alloc_kind kind)
{
	return kind == ALLOC_HOST || kind == ALLOC_REGISTERED || kind == ALLOC_MANAGED;
}

static inline bool alloc_on_cpu(const struct alloc_info *info)
{
	return alloc_kind_on_cpu(info->kind);
}

/* alloc_find - the allocation around @addr; false: there is none */
bool alloc_find(CUdeviceptr addr, struct alloc_info *out);

/* alloc_set_sync_memops - for all of an allocation that was found; false: it is gone */
bool alloc_set_sync_memops(const struct alloc_info *found, bool on);

/* The rest is for those who make allocations, and needs the library lock. */

/* alloc_add - @info can be found from now on, where it is, and has an id; false: no memory, or it overlaps another */
bool alloc_add(struct alloc_info *info);
void alloc_remove(struct alloc_info *info);

/* alloc_overlap - one of those that were added and have a byte of [@addr, @addr + @size), or NULL */
struct alloc_info *alloc_overlap(CUdeviceptr addr, size_t size);

/* alloc_again - one that was found before; NULL: it is gone, whatever is at its address now */
struct alloc_info *alloc_again(const struct alloc_info *found);

/* alloc_new_id - for @mapping_id */
unsigned long long alloc_new_id(void);

#endif
