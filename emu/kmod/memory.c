// SPDX-License-Identifier: GPL-2.0
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/slab.h>

#include "gpu.h"
#include "memory.h"
#include "vram.h"

static void memory_destroy(struct emugpu_object *object)
{
	struct emugpu_memory *memory = container_of(object, struct emugpu_memory, object);

	emugpu_vram_free(&memory->gpu->vram, memory->pages, memory->npages);
	emugpu_gpu_put(memory->gpu);
	kvfree(memory);
}

struct emugpu_memory *emugpu_memory_of(struct emugpu_object *object)
{
	return object->destroy == memory_destroy ? container_of(object, struct emugpu_memory, object) : NULL;
}

struct emugpu_memory *emugpu_memory_new(struct emugpu_gpu *gpu, u64 size, bool combined)
{
	u32 npages = size / EMUGPU_PAGE_SIZE;
	struct emugpu_memory *memory;

	if (!size || size % EMUGPU_BLOCK_SIZE)
		return ERR_PTR(-EINVAL);
	if (size > gpu->size)
		return ERR_PTR(-ENOMEM);
	memory = kvzalloc(struct_size(memory, pages, npages), GFP_KERNEL);
	if (!memory)
		return ERR_PTR(-ENOMEM);
	if (emugpu_vram_alloc(&gpu->vram, memory->pages, npages))
		goto err_memory;
	if (emugpu_gpu_claim(gpu, memory->pages, npages, combined))
		goto err_vram;
	emugpu_object_init(&memory->object, memory_destroy);
	emugpu_gpu_get_ref(gpu);
	memory->gpu = gpu;
	memory->npages = npages;
	return memory;

err_vram:
	emugpu_vram_free(&gpu->vram, memory->pages, npages);
err_memory:
	kvfree(memory);
	return ERR_PTR(-ENOMEM);
}
