/* SPDX-License-Identifier: MIT */
/*
 * heap: what a context or a pool hands out. Memory comes in *blocks*, of whole
 * 2 MiB where it is the GPU's; a program has *allocations* in them. Those of
 * GPU memory up to 1 MiB share blocks, any other has a block of its own. A
 * block goes back to the kernel, which revokes what peers have pinned of it,
 * when its last allocation is freed.
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
 * struct heap - under the library lock
 * @open: allocations can be made
 * @life: how often it was opened
 * @blocks: all of it
 * @keep: bytes of blocks without allocations that stay (a pool's release threshold)
 * @most: of bytes reserved; 0: what the GPU has
 * @reserved: bytes of all blocks, and @reserved_high the most there were
 * @used: bytes of all allocations, likewise
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

/* Need the library lock. heap_close() moves the blocks to @blocks and forgets their allocations. */
void heap_open(struct heap *heap);
void heap_close(struct heap *heap, struct block_list *blocks);

/* heap_is_on_cpu - some of its memory is reached by the CPU at its address. Needs the library lock. */
bool heap_is_on_cpu(const struct heap *heap);

/* None of these may be called with the library lock. */

/* heap_release - give blocks of heap_close() back to the kernel */
void heap_release(struct block_list *blocks);

/*
 * heap_alloc - make the allocation that @want describes, in the heap of its context or pool
 *
 * Of @want it needs kind, size, device, ctx or pool, flags, and addr if REGISTERED.
 */
CUresult heap_alloc(const struct alloc_info *want, CUdeviceptr *out);

/*
 * heap_take - forget an allocation of a pool that was found before
 *
 * No look-up finds it any more; its memory stays until heap_give(). NULL: it is
 * gone, whatever is at its address now.
 */
struct allocation *heap_take(const struct alloc_info *found);

/*
 * heap_give - return the memory of a forgotten allocation
 *
 * If that empties a block, it goes back to the kernel, which runs the free
 * callbacks; its address is not given out again before they have returned.
 */
CUresult heap_give(struct allocation *a);

/*
 * heap_free - forget an allocation that was found before, and return its memory
 *
 * @gone: it is, whatever is at its address now; then CUDA_ERROR_INVALID_VALUE.
 */
CUresult heap_free(const struct alloc_info *found, bool *gone);

/* heap_trim - give empty blocks back until at most @keep bytes are reserved */
void heap_trim(struct heap *heap, uint64_t keep);

#endif
