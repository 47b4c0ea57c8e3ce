/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A memory: VRAM pages without a GPU address. Blocks, persistent pins, dma-bufs and clients hold
 * references. Dropping the last reference frees the pages.
 */
#ifndef _EMUGPU_MEMORY_H
#define _EMUGPU_MEMORY_H

#include <linux/types.h>

#include "object.h"

struct emugpu_gpu;

struct emugpu_memory {
	struct emugpu_object object;
	struct emugpu_gpu *gpu;
	u32 npages;
	u32 pages[];
};

/*
 * Allocates @size bytes for client number @client. Clears pages that have data of another client.
 * @combined: the CPU maps the memory write-combined, else cached. ERR_PTR: EINVAL: @size is no
 * multiple of the block size; ENOMEM; ENODEV: the GPU is gone; EBUSY: the window (window.h) is closed.
 */
struct emugpu_memory *emugpu_memory_new(struct emugpu_gpu *gpu, u64 client, u64 size, bool combined);

/*
 * Marks a part of @memory for clearing before any reuse, even by the same client: a persistent pin
 * or a dma-buf may write to this part after the client has freed it. @size is not 0. API lock held.
 */
void emugpu_memory_disown(const struct emugpu_memory *memory, u64 offset, u64 size);

/* The memory that contains @object; NULL if @object is of another kind */
struct emugpu_memory *emugpu_memory_of(struct emugpu_object *object);

static inline void emugpu_memory_get(struct emugpu_memory *memory)
{
	emugpu_object_get(&memory->object);
}

static inline void emugpu_memory_put(struct emugpu_memory *memory)
{
	emugpu_object_put(&memory->object);
}

#endif
