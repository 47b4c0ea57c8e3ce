/* SPDX-License-Identifier: MIT */
/*
 * block: a piece of memory that contains allocations. The memory comes from the kernel, from mmap()
 * or from the program.
 */
#ifndef BLOCK_H
#define BLOCK_H

#include "alloc.h"
#include "fit.h"
#include "heap.h"

struct allocation;

/**
 * struct block - a piece of memory
 * @link: entry in the list of its heap
 * @kind: kind of the allocations in the block
 * @device: GPU of the memory; for host memory, GPU of the context
 * @va: address
 * @size: bytes
 * @id: CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID
 * @fit: the used units of HEAP_ALIGN bytes; NULL: one allocation has the whole block
 */
struct block {
	TAILQ_ENTRY(block) link;
	struct heap *heap;
	enum alloc_kind kind;
	CUdevice device;
	CUdeviceptr va;
	size_t size;
	unsigned long long id;
	struct fit *fit;
	LIST_HEAD(, allocation) allocations;
};

/* Do not call block_get() and block_put() with the library lock held. */

/* block_get - get a block for @want, which the caller then adds to a heap; @fit is set if the block is shared */
CUresult block_get(const struct alloc_info *want, struct block **out);

/*
 * block_put - free a block; for GPU memory the kernel runs free callbacks
 *
 * The caller has removed @b from its list, so no other thread can reach it.
 */
CUresult block_put(struct block *b);

/* block_is_shared - whether an allocation of this kind and size shares a block with others */
bool block_is_shared(const struct alloc_info *want);

/* block_allows_rdma - whether peers may pin @b: host memory of an integrated GPU, else GPU memory except pools */
bool block_allows_rdma(const struct block *b);

#endif
