// SPDX-License-Identifier: GPL-2.0
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "api.h"
#include "gpu.h"
#include "memory.h"
#include "vram.h"
#include "window.h"

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

static int page_clear(const struct emugpu_gpu *gpu, u32 page)
{
	void *p;

	emugpu_window_lock_shared();
	p = emugpu_window_page(gpu, page);
	if (!IS_ERR(p))
		memset(p, 0, EMUGPU_PAGE_SIZE);
	emugpu_window_unlock_shared();
	cond_resched();
	return PTR_ERR_OR_ZERO(p);
}

/* Clears pages with data of other clients. A client may find its own old data, as on hardware. */
static int memory_clear_of_others(const struct emugpu_memory *memory, u64 client)
{
	u64 *last = memory->gpu->vram.last;
	u32 i;
	int err = 0;

	for (i = 0; i < memory->npages && !err; i++) {
		if (last[memory->pages[i]] == client)
			continue;
		err = page_clear(memory->gpu, memory->pages[i]);
		if (!err)
			last[memory->pages[i]] = client;
	}
	return err;
}

void emugpu_memory_disown(const struct emugpu_memory *memory, u64 offset, u64 size)
{
	u32 i;

	emugpu_api_assert_held();
	for (i = offset / EMUGPU_PAGE_SIZE; i <= (offset + size - 1) / EMUGPU_PAGE_SIZE; i++)
		memory->gpu->vram.last[memory->pages[i]] = 0;
}

struct emugpu_memory *emugpu_memory_new(struct emugpu_gpu *gpu, u64 client, u64 size, bool combined)
{
	u32 npages = size / EMUGPU_PAGE_SIZE;
	struct emugpu_memory *memory;
	int err = -ENOMEM;

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
	memory->gpu = gpu;
	memory->npages = npages;
	err = memory_clear_of_others(memory, client);
	if (err)
		goto err_vram;
	emugpu_object_init(&memory->object, memory_destroy);
	emugpu_gpu_get_ref(gpu);
	return memory;

err_vram:
	emugpu_vram_free(&gpu->vram, memory->pages, npages);
err_memory:
	kvfree(memory);
	return ERR_PTR(err);
}
