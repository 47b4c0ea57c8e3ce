/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A block: VRAM pages at a GPU virtual address of one process.
 *
 * The list of blocks holds a reference and each copy under way another one.
 * Freeing a block takes it off the list, runs the free callbacks of its pins
 * and drops the list's reference, so its pages go back to the allocator with
 * nothing pinned and when the last copy is over; freeing waits for no copy.
 */
#ifndef _EMUGPU_BLOCK_H
#define _EMUGPU_BLOCK_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/types.h>

struct emugpu_client;
struct emugpu_gpu;
struct pid;

struct emugpu_block {
	struct kref refs;
	struct list_head node;		/* API lock and block list lock to write, either to read */
	struct list_head pins;		/* API lock */
	struct emugpu_client *client;	/* valid while on the list */
	struct emugpu_gpu *gpu;
	u64 va;
	u64 size;
	u32 npages;
	u32 pages[];
};

int emugpu_block_alloc(struct emugpu_client *client, struct emugpu_gpu *gpu, u64 va, u64 size);
int emugpu_block_free(struct emugpu_client *client, u64 va);
void emugpu_block_free_all(struct emugpu_client *client);

/* Runs the free callbacks of a block's pins, or of all of a GPU; API lock held. */
void emugpu_block_revoke(struct emugpu_block *block);
void emugpu_block_revoke_gpu(const struct emugpu_gpu *gpu);

/* The block of @owner that @va lies in, or NULL. API lock held. */
struct emugpu_block *emugpu_block_find(const struct pid *owner, u64 va);

/* The same with a reference, for callers without the API lock. */
struct emugpu_block *emugpu_block_get(const struct pid *owner, u64 va);
void emugpu_block_put(struct emugpu_block *block);

/* Calls @fn for each block of @gpu; API lock held. */
void emugpu_block_for_each(const struct emugpu_gpu *gpu, void (*fn)(const struct emugpu_block *block, void *arg),
			   void *arg);

/* @va lies in the block */
static inline bool emugpu_block_holds(const struct emugpu_block *block, u64 va, u64 length)
{
	u64 offset = va - block->va;

	return offset <= block->size && length <= block->size - offset;
}

#endif
