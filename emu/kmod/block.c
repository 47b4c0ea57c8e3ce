// SPDX-License-Identifier: GPL-2.0
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "api.h"
#include "block.h"
#include "control.h"
#include "gpu.h"
#include "pin.h"
#include "vram.h"

enum { VA_BITS_MAX = 40 };

static DEFINE_SPINLOCK(blocks_lock);
static LIST_HEAD(blocks);

static void block_release(struct kref *refs)
{
	struct emugpu_block *block = container_of(refs, struct emugpu_block, refs);

	emugpu_vram_free(&block->gpu->vram, block->pages, block->npages);
	emugpu_gpu_put(block->gpu);
	kvfree(block);
}

void emugpu_block_put(struct emugpu_block *block)
{
	kref_put(&block->refs, block_release);
}

/* The first block of @owner that has a byte in common with the range; a list will do for some hundred blocks. */
static struct emugpu_block *overlapping(const struct pid *owner, u64 va, u64 size)
{
	struct emugpu_block *block;

	list_for_each_entry(block, &blocks, node)
		if (block->client->owner == owner && va < block->va + block->size && block->va < va + size)
			return block;
	return NULL;
}

struct emugpu_block *emugpu_block_find(const struct pid *owner, u64 va)
{
	emugpu_api_assert_held();
	return overlapping(owner, va, 1);
}

struct emugpu_block *emugpu_block_get(const struct pid *owner, u64 va)
{
	struct emugpu_block *block;

	spin_lock(&blocks_lock);
	block = overlapping(owner, va, 1);
	if (block)
		kref_get(&block->refs);
	spin_unlock(&blocks_lock);
	return block;
}

static struct emugpu_block *block_new(struct emugpu_client *client, struct emugpu_gpu *gpu, u64 va, u64 size)
{
	u32 npages = size / EMUGPU_PAGE_SIZE;
	struct emugpu_block *block;

	block = kvzalloc(struct_size(block, pages, npages), GFP_KERNEL);
	if (!block)
		return NULL;
	if (emugpu_vram_alloc(&gpu->vram, block->pages, npages)) {
		kvfree(block);
		return NULL;
	}
	kref_init(&block->refs);
	kref_get(&gpu->refs);
	INIT_LIST_HEAD(&block->pins);
	block->client = client;
	block->gpu = gpu;
	block->va = va;
	block->size = size;
	block->npages = npages;
	return block;
}

static bool valid_range(u64 va, u64 size)
{
	u64 limit = 1ull << VA_BITS_MAX;

	return size && !(va % EMUGPU_BLOCK_SIZE) && !(size % EMUGPU_BLOCK_SIZE) && va < limit && size <= limit - va;
}

static void block_link(struct emugpu_block *block)
{
	spin_lock(&blocks_lock);
	list_add(&block->node, &blocks);
	spin_unlock(&blocks_lock);
}

static int block_alloc_locked(struct emugpu_client *client, struct emugpu_gpu *gpu, u64 va, u64 size)
{
	struct emugpu_block *block;

	if (gpu->gone)
		return -ENODEV;
	if (overlapping(client->owner, va, size))
		return -EEXIST;
	block = size <= gpu->size ? block_new(client, gpu, va, size) : NULL;
	if (!block)
		return -ENOMEM;
	block_link(block);
	return 0;
}

int emugpu_block_alloc(struct emugpu_client *client, struct emugpu_gpu *gpu, u64 va, u64 size)
{
	int err;

	if (!valid_range(va, size))
		return -EINVAL;
	emugpu_api_lock();
	err = block_alloc_locked(client, gpu, va, size);
	emugpu_api_unlock();
	return err;
}

void emugpu_block_revoke(struct emugpu_block *block)
{
	emugpu_api_assert_held();
	while (!list_empty(&block->pins))
		emugpu_pin_revoke(list_first_entry(&block->pins, struct emugpu_pin, node));
}

static void block_free_locked(struct emugpu_block *block)
{
	spin_lock(&blocks_lock);
	list_del(&block->node);
	spin_unlock(&blocks_lock);
	emugpu_block_revoke(block);
	emugpu_block_put(block);
}

int emugpu_block_free(struct emugpu_client *client, u64 va)
{
	struct emugpu_block *block;
	int err = -ENOENT;

	emugpu_api_lock();
	block = emugpu_block_find(client->owner, va);
	if (block && block->va == va) {
		block_free_locked(block);
		err = 0;
	}
	emugpu_api_unlock();
	return err;
}

void emugpu_block_free_all(struct emugpu_client *client)
{
	struct emugpu_block *block, *next;

	emugpu_api_lock();
	list_for_each_entry_safe(block, next, &blocks, node)
		if (block->client == client)
			block_free_locked(block);
	emugpu_api_unlock();
}

void emugpu_block_revoke_gpu(const struct emugpu_gpu *gpu)
{
	struct emugpu_block *block;

	emugpu_api_assert_held();
	list_for_each_entry(block, &blocks, node)
		if (block->gpu == gpu)
			emugpu_block_revoke(block);
}

void emugpu_block_for_each(const struct emugpu_gpu *gpu, void (*fn)(const struct emugpu_block *block, void *arg),
			   void *arg)
{
	struct emugpu_block *block;

	emugpu_api_assert_held();
	list_for_each_entry(block, &blocks, node)
		if (block->gpu == gpu)
			fn(block, arg);
}
