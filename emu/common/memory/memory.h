/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A memory: VRAM pages without a GPU address. Blocks, persistent pins, dma-bufs and
 * clients hold references; dropping the last one frees the pages.
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
 * Clears all pages that hold data of other clients than @client (client->number). @combined: mapped write-combined
 * by the CPU, else cached. ERR_PTR: EINVAL @size is no multiple of the block size; ENOMEM; ENODEV, EBUSY no window.
 */
struct emugpu_memory *emugpu_memory_new(struct emugpu_gpu *gpu, u64 client, u64 size, bool combined);

/*
 * After the client frees it, others (a persistent pin, a dma-buf) may still write to this
 * part: clear it before any reuse, even by the same client. @size is not 0. API lock held.
 */
void emugpu_memory_disown(const struct emugpu_memory *memory, u64 offset, u64 size);

/* NULL if @object is of another kind */
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
