/* SPDX-License-Identifier: MIT */
/*
 * alloc: GPU memory of this process. The kernel gives *blocks* of whole 2 MiB;
 * a program has *allocations* in them. Those of up to 1 MiB share blocks, any
 * larger one has a block of its own. A block goes back to the kernel, which
 * revokes what peers have pinned of it, when its last allocation is freed.
 */
#ifndef ALLOC_H
#define ALLOC_H

#include "ctx.h"

#include <cuda.h>

enum { ALLOC_ALIGN = 512 };

/**
 * struct alloc_info - an allocation, as it was when it was looked up
 * @addr: first byte
 * @size: bytes that were asked for
 * @id: CU_POINTER_ATTRIBUTE_BUFFER_ID, never used twice
 * @sync_memops: CU_POINTER_ATTRIBUTE_SYNC_MEMOPS
 * @ctx: where it was allocated
 */
struct alloc_info {
	CUdeviceptr addr;
	size_t size;
	unsigned long long id;
	bool sync_memops;
	struct CUctx_st *ctx;
};

/* None of these may be called with the library lock, but for alloc_detach_all(). */

CUresult alloc_create(struct CUctx_st *ctx, size_t size, CUdeviceptr *out);

/*
 * alloc_destroy - free the allocation that begins at @addr
 *
 * It is out of all look-ups before the kernel runs free callbacks, and its
 * address is not given out again before they have returned.
 */
CUresult alloc_destroy(CUdeviceptr addr);

/* alloc_find - the allocation around @addr; false: GPU memory of nobody */
bool alloc_find(CUdeviceptr addr, struct alloc_info *out);

/* alloc_set_sync_memops - for all of the allocation around @addr; false: there is none */
bool alloc_set_sync_memops(CUdeviceptr addr, bool on);

/* alloc_detach_all - move the blocks of @ctx to @blocks and forget their allocations; library lock held */
void alloc_detach_all(struct CUctx_st *ctx, struct block_list *blocks);

/* alloc_release - give detached blocks back to the kernel */
void alloc_release(struct block_list *blocks);

#endif
