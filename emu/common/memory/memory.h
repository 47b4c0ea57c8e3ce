/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A memory: VRAM pages, without an address. Blocks show it, pins hold it, a
 * client may have it by number; its pages go back with the last of these.
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
 * Without data of others than @client, see emugpu_client; write-combined or cached for the CPU. ERR_PTR: EINVAL
 * @size is no multiple of the block size; ENOMEM; ENODEV, EBUSY no window to zero it through
 */
struct emugpu_memory *emugpu_memory_new(struct emugpu_gpu *gpu, u64 client, u64 size, bool combined);

/*
 * Others may write to this part of it when the client has freed it, so that one is not to
 * find it again as it is. @size is not 0. API lock held.
 */
void emugpu_memory_disown(const struct emugpu_memory *memory, u64 offset, u64 size);

/* NULL when @object is of another kind */
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
