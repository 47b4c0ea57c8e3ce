/* SPDX-License-Identifier: MIT */
/*
 * alloc: all allocations of this process that CUDA knows, of any kind, with look-up by address.
 * heap.c and vmm.c provide the memory.
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
 * @kind: the function that made the allocation
 * @addr: first byte
 * @size: requested bytes
 * @id: CU_POINTER_ATTRIBUTE_BUFFER_ID, never reused
 * @device: GPU of the memory
 * @ctx: context of the allocation; NULL for VMM and POOL, which belong to no context
 * @pool: pool of an ALLOC_POOL allocation
 * @flags: flags passed to cuMemHostAlloc() or cuMemHostRegister()
 * @sync_memops: CU_POINTER_ATTRIBUTE_SYNC_MEMOPS
 * @rdma: peers may pin the memory
 * @access: access allowed to copies: none for a new VMM range; registered memory may be read-only
 * @range: CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: for VMM the start of the reservation, else @addr
 * @range_size: bytes of the range
 * @mapping: for VMM the address of the mapping, else of the block that contains the allocation
 * @mapping_size: bytes of the mapping or block at @mapping
 * @mapping_id: CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID, never reused
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

/* alloc_kind_on_cpu, alloc_on_cpu - whether the CPU copies the memory, in place of the GPU's copy engine */
static inline bool alloc_kind_on_cpu(enum alloc_kind kind)
{
	return kind == ALLOC_HOST || kind == ALLOC_REGISTERED || kind == ALLOC_MANAGED;
}

static inline bool alloc_on_cpu(const struct alloc_info *info)
{
	return alloc_kind_on_cpu(info->kind);
}

/* alloc_find - the allocation that contains @addr; returns false if not found */
bool alloc_find(CUdeviceptr addr, struct alloc_info *out);

/* alloc_set_sync_memops - set SYNC_MEMOPS of an allocation that was found before; false: freed meanwhile */
bool alloc_set_sync_memops(const struct alloc_info *found, bool on);

/* Call the functions below with the library lock held. */

/* alloc_add - make @info findable, until alloc_remove(), and set its id; false: out of memory, or an overlap */
bool alloc_add(struct alloc_info *info);
void alloc_remove(struct alloc_info *info);

/* alloc_overlap - an allocation that overlaps [@addr, @addr + @size), or NULL */
struct alloc_info *alloc_overlap(CUdeviceptr addr, size_t size);

/* alloc_again - find allocation @found again; NULL: freed meanwhile, even if a new allocation has its address */
struct alloc_info *alloc_again(const struct alloc_info *found);

/* alloc_new_id - a new id for @mapping_id */
unsigned long long alloc_new_id(void);

#endif
