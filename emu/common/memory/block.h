/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A block: memory at a GPU virtual address of one process.
 *
 * The list of blocks holds a reference and each copy under way another one.
 * Freeing a block takes it off the list, runs the free callbacks of its pins
 * and drops the list's reference, so its memory goes with nothing pinned and
 * when the last copy is over; freeing waits for no copy. Persistent pins are
 * of the memory, not of the block.
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
	struct list_head node;		/* API lock and block list lock to write, either to read */
	struct list_head pins;		/* API lock */
	struct list_head exports;	/* dynamic dma-bufs; API lock */
	struct emugpu_client *client;	/* valid while on the list */
	struct emugpu_context *context;	/* or NULL */
	struct emugpu_memory *memory;
	struct emugpu_gpu *gpu;		/* the memory's */
	const u32 *pages;		/* the memory's, from where the block begins */
	u64 va;
	u64 size;
	u32 flags;			/* enum emugpu_alloc_flags */
};

/* A block as @alloc says, of @memory and @context, which it gets references of */
int emugpu_block_alloc(struct emugpu_client *client, struct emugpu_memory *memory, struct emugpu_context *context,
		       const struct emugpu_alloc *alloc);
int emugpu_block_free(u64 va);
void emugpu_block_free_all(struct emugpu_client *client);

/*
 * Runs the free callbacks of a block's pins, or of all of a GPU, or of all GPUs
 * for NULL; API lock held.
 * The dma-bufs that end with it come to @ended, for emugpu_export_notify().
 */
void emugpu_block_revoke(struct emugpu_block *block, struct list_head *ended);
void emugpu_block_revoke_gpu(const struct emugpu_gpu *gpu, struct list_head *ended);

/* The latter, and the notification; takes the API lock. */
void emugpu_block_revoke_all(const struct emugpu_gpu *gpu);

/* The block that @va lies in, of the calling program or of the context with that token, or NULL. API lock held. */
struct emugpu_block *emugpu_block_find(u64 va);
struct emugpu_block *emugpu_block_find_by_token(u64 p2p_token, u64 va);

/* The first of these with a reference, for callers without the API lock. */
struct emugpu_block *emugpu_block_get(u64 va);
void emugpu_block_put(struct emugpu_block *block);

/* Blocks of @gpu; API lock held. */
u32 emugpu_block_count(const struct emugpu_gpu *gpu);

/* The whole range lies in the block */
static inline bool emugpu_block_holds(const struct emugpu_block *block, u64 va, u64 length)
{
	u64 offset = va - block->va;

	return offset <= block->size && length <= block->size - offset;
}

#endif
