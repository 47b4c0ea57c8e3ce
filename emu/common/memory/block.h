/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A block: memory at a GPU virtual address of one process.
 *
 * The list of blocks holds a reference to each block, and each running copy holds one to its
 * blocks. Freeing a block removes the block from the list, runs the free callbacks of its pins and
 * drops the list's reference. The freeing thread does not wait for running copies: the last copy
 * drops the last reference. By then the block has no pins. Persistent pins belong to the memory,
 * not to the block.
 */
#ifndef _EMUGPU_BLOCK_H
#define _EMUGPU_BLOCK_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/types.h>

struct emugpu_alloc;
struct emugpu_client;
struct emugpu_context;
struct emugpu_gpu;
struct emugpu_memory;
struct pid;

struct emugpu_block {
	struct kref refs;
	struct list_head node;		/* in the list of blocks; writers: API lock and list lock; readers: either lock */
	struct list_head pins;		/* revocable pins; API lock */
	struct list_head exports;	/* dynamic dma-bufs; API lock */
	struct emugpu_client *client;	/* owner; valid while the block is in the list */
	struct emugpu_context *context;	/* context with the tokens, or NULL */
	struct emugpu_memory *memory;
	struct emugpu_gpu *gpu;		/* GPU of @memory */
	const u32 *pages;		/* points into memory->pages, at the first page of the block */
	u64 va;
	u64 size;
	u32 flags;			/* enum emugpu_alloc_flags */
};

/* Makes a block of @memory and @context as in @alloc; takes its own references to both. */
int emugpu_block_alloc(struct emugpu_client *client, struct emugpu_memory *memory, struct emugpu_context *context,
		       const struct emugpu_alloc *alloc);
int emugpu_block_free(u64 va);
void emugpu_block_free_all(struct emugpu_client *client);

/*
 * Revokes the pins of a block, or of all blocks of a GPU (NULL: of all GPUs): runs their free
 * callbacks. Moves the revoked dynamic dma-bufs to @ended, for emugpu_export_notify(). API lock
 * held.
 */
void emugpu_block_revoke(struct emugpu_block *block, struct list_head *ended);
void emugpu_block_revoke_gpu(const struct emugpu_gpu *gpu, struct list_head *ended);

/* emugpu_block_revoke_gpu(), then emugpu_export_notify(); takes the API lock. */
void emugpu_block_revoke_all(const struct emugpu_gpu *gpu, bool oldest_first);

/*
 * The block that contains @va, or NULL if not found. API lock held.
 * emugpu_block_find(): a block of the calling process.
 * emugpu_block_find_by_token(): a block of the context with token @p2p_token, in any process.
 */
struct emugpu_block *emugpu_block_find(u64 va);
struct emugpu_block *emugpu_block_find_by_token(u64 p2p_token, u64 va);

/* emugpu_block_find() with a reference, for callers without the API lock. */
struct emugpu_block *emugpu_block_get(u64 va);
void emugpu_block_put(struct emugpu_block *block);

/* Number of blocks of @gpu; API lock held. */
u32 emugpu_block_count(const struct emugpu_gpu *gpu);

/* Whether the whole range lies in the block */
static inline bool emugpu_block_holds(const struct emugpu_block *block, u64 va, u64 length)
{
	u64 offset = va - block->va;

	return offset <= block->size && length <= block->size - offset;
}

#endif
