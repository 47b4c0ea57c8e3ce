/* SPDX-License-Identifier: MIT */
/* block: a piece of memory that allocations lie in, and where it comes from. */
#ifndef BLOCK_H
#define BLOCK_H

#include "alloc.h"
#include "fit.h"
#include "heap.h"

struct allocation;

/**
 * struct block - memory
 * @link: in its heap's list
 * @heap: whose
 * @kind: of the allocations in it
 * @device: whose memory, or on whose behalf
 * @va: address
 * @size: bytes
 * @id: CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID
 * @fit: which HEAP_ALIGN units are taken; NULL: one allocation has it all
 * @allocations: those in it
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

/* None of these may be called with the library lock. */

/* block_get - memory for @want, shared ones with a @fit; in no list yet */
CUresult block_get(const struct alloc_info *want, struct block **out);

/*
 * block_put - give it back; for GPU memory the kernel runs free callbacks
 *
 * The caller has taken @b out of its list, so no other thread can reach it.
 */
CUresult block_put(struct block *b);

/* block_is_shared - whether an allocation of this kind and size has a block of its own */
bool block_is_shared(const struct alloc_info *want);

/* block_allows_rdma - peers may pin what lies in it: of an integrated GPU host memory, of others its own */
bool block_allows_rdma(const struct block *b);

#endif
