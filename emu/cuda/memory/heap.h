/* SPDX-License-Identifier: MIT */
/*
 * heap: the memory of a context or a pool. A heap consists of *blocks*, which contain the program's
 * *allocations*. Blocks of GPU memory are multiples of 2 MiB. Allocations of GPU memory up to 1 MiB
 * share blocks; larger allocations have a block of their own. When the last allocation of a block
 * is freed, the heap frees the block (a pool may keep it). Then the kernel revokes its pins.
 */
#ifndef HEAP_H
#define HEAP_H

#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

enum { HEAP_ALIGN = 512 };

struct alloc_info;
struct block;
TAILQ_HEAD(block_list, block);

/**
 * struct heap - a heap; under the library lock
 * @open: allocations are possible
 * @life: number of times that the heap was opened
 * @blocks: blocks of the heap
 * @keep: an empty block is kept if @reserved is at most @keep (release threshold of a pool)
 * @most: limit of @reserved; 0: none
 * @reserved: bytes of all blocks; @reserved_high is the maximum
 * @used: bytes of all allocations; @used_high is the maximum
 */
struct heap {
	bool open;
	unsigned long life;
	struct block_list blocks;
	uint64_t keep;
	uint64_t most;
	uint64_t reserved, reserved_high;
	uint64_t used, used_high;
};

/* Call both with the library lock held. heap_close() moves the blocks to @blocks and deletes their allocations. */
void heap_open(struct heap *heap);
void heap_close(struct heap *heap, struct block_list *blocks);

/* heap_is_on_cpu - whether the heap has memory that the CPU copies. Call with the library lock held */
bool heap_is_on_cpu(const struct heap *heap);

/* Call none of the functions below with the library lock held. */

/* heap_release - free the blocks from heap_close() in the kernel */
void heap_release(struct block_list *blocks);

/*
 * heap_alloc - make the allocation that @want describes, in the heap of its context or pool
 *
 * The caller sets in @want: kind, size, device and flags; either ctx or pool; for ALLOC_REGISTERED,
 * addr.
 */
CUresult heap_alloc(const struct alloc_info *want, CUdeviceptr *out);

/*
 * heap_take - remove an allocation of a pool from all look-ups
 *
 * The memory stays until heap_give(). NULL: @found was freed meanwhile; a new allocation at its
 * address is not taken.
 */
struct allocation *heap_take(const struct alloc_info *found);

/*
 * heap_give - free the memory of an allocation from heap_take()
 *
 * If the block becomes empty and no pool keeps it, the kernel frees it and runs the free callbacks.
 * The block's address is not reused before the callbacks have returned.
 */
CUresult heap_give(struct allocation *a);

/*
 * heap_free - heap_take(), then heap_give()
 *
 * If @found was freed meanwhile, sets *@gone and returns CUDA_ERROR_INVALID_VALUE.
 */
CUresult heap_free(const struct alloc_info *found, bool *gone);

/* heap_trim - free empty blocks until at most @keep bytes are reserved */
void heap_trim(struct heap *heap, uint64_t keep);

#endif
