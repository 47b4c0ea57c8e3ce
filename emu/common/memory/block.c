// SPDX-License-Identifier: GPL-2.0
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "api.h"
#include "block.h"
#include "client.h"
#include "context.h"
#include "export.h"
#include "gpu.h"
#include "guard.h"
#include "memory.h"
#include "pin.h"

enum {
	VA_BITS_MAX = 40,
	BLOCKS_MAX = 16384,	/* limit per client, because each look-up walks the whole list */
};

static DEFINE_SPINLOCK(blocks_lock);
static LIST_HEAD(blocks);

static void block_release(struct kref *refs)
{
	struct emugpu_block *block = container_of(refs, struct emugpu_block, refs);

	emugpu_memory_put(block->memory);
	emugpu_context_put(block->context);
	kfree(block);
}

void emugpu_block_put(struct emugpu_block *block)
{
	kref_put(&block->refs, block_release);
}

/* The first block of the calling process that overlaps the range. A list is fast enough for some hundred blocks. */
static struct emugpu_block *overlapping(u64 va, u64 size)
{
	struct emugpu_block *block;

	list_for_each_entry(block, &blocks, node)
		if (va < block->va + block->size && block->va < va + size && emugpu_client_is_mine(block->client))
			return block;
	return NULL;
}

struct emugpu_block *emugpu_block_find(u64 va)
{
	emugpu_api_assert_held();
	return overlapping(va, 1);
}

struct emugpu_block *emugpu_block_get(u64 va)
{
	struct emugpu_block *block;

	spin_lock(&blocks_lock);
	block = overlapping(va, 1);
	if (block)
		kref_get(&block->refs);
	spin_unlock(&blocks_lock);
	return block;
}

struct emugpu_block *emugpu_block_find_by_token(u64 p2p_token, u64 va)
{
	struct emugpu_block *block;

	emugpu_api_assert_held();
	list_for_each_entry(block, &blocks, node)
		if (block->context && block->context->p2p_token == p2p_token && emugpu_block_holds(block, va, 1))
			return block;
	return NULL;
}

static struct emugpu_block *block_new(struct emugpu_client *client, struct emugpu_memory *memory,
				      struct emugpu_context *context, const struct emugpu_alloc *alloc)
{
	struct emugpu_block *block = kzalloc(sizeof(*block), GFP_KERNEL_ACCOUNT);

	if (!block)
		return NULL;
	kref_init(&block->refs);
	INIT_LIST_HEAD(&block->pins);
	INIT_LIST_HEAD(&block->exports);
	emugpu_memory_get(memory);
	if (context)
		emugpu_object_get(&context->object);
	block->client = client;
	block->memory = memory;
	block->context = context;
	block->gpu = memory->gpu;
	block->pages = &memory->pages[alloc->offset / EMUGPU_PAGE_SIZE];
	block->va = alloc->va;
	block->size = alloc->size;
	block->flags = alloc->flags;
	return block;
}

static bool valid_range(const struct emugpu_alloc *alloc, const struct emugpu_memory *memory)
{
	u64 va_limit = 1ull << VA_BITS_MAX, memory_size = emugpu_gpu_page_offset(memory->npages);

	if (!alloc->size || (alloc->va | alloc->size | alloc->offset) % EMUGPU_BLOCK_SIZE)
		return false;
	if (alloc->va >= va_limit || alloc->size > va_limit - alloc->va)
		return false;
	return alloc->offset < memory_size && alloc->size <= memory_size - alloc->offset;
}

static void block_link(struct emugpu_block *block)
{
	spin_lock(&blocks_lock);
	list_add(&block->node, &blocks);
	spin_unlock(&blocks_lock);
	block->client->nr_blocks++;
}

static int block_alloc_locked(struct emugpu_client *client, struct emugpu_memory *memory,
			      struct emugpu_context *context, const struct emugpu_alloc *alloc)
{
	struct emugpu_block *block;

	if (memory->gpu->gone)
		return -ENODEV;
	if (overlapping(alloc->va, alloc->size))
		return -EEXIST;
	if (client->nr_blocks == BLOCKS_MAX)
		return -ENOMEM;
	block = block_new(client, memory, context, alloc);
	if (!block)
		return -ENOMEM;
	block_link(block);
	return 0;
}

int emugpu_block_alloc(struct emugpu_client *client, struct emugpu_memory *memory, struct emugpu_context *context,
		       const struct emugpu_alloc *alloc)
{
	int err;

	if (!valid_range(alloc, memory))
		return -EINVAL;
	emugpu_api_lock();
	err = block_alloc_locked(client, memory, context, alloc);
	emugpu_api_unlock();
	return err;
}

void emugpu_block_revoke(struct emugpu_block *block, struct list_head *ended)
{
	emugpu_api_assert_held();
	while (!list_empty(&block->pins))
		emugpu_pin_revoke(list_first_entry(&block->pins, struct emugpu_pin, node));
	emugpu_guard_look();
	emugpu_export_end(&block->exports, ended);
}

static void block_free_locked(struct emugpu_block *block, struct list_head *ended)
{
	spin_lock(&blocks_lock);
	list_del(&block->node);
	spin_unlock(&blocks_lock);
	block->client->nr_blocks--;
	emugpu_block_revoke(block, ended);
	emugpu_block_put(block);
}

int emugpu_block_free(u64 va)
{
	struct emugpu_block *block;
	LIST_HEAD(ended);
	int err = -ENOENT;

	emugpu_api_lock();
	block = emugpu_block_find(va);
	if (block && block->va == va) {
		block_free_locked(block, &ended);
		err = 0;
	}
	emugpu_api_unlock();
	emugpu_export_notify(&ended);
	return err;
}

void emugpu_block_free_all(struct emugpu_client *client)
{
	struct emugpu_block *block, *next;
	LIST_HEAD(ended);

	emugpu_api_lock();
	list_for_each_entry_safe(block, next, &blocks, node)
		if (block->client == client)
			block_free_locked(block, &ended);
	emugpu_api_unlock();
	emugpu_export_notify(&ended);
}

void emugpu_block_revoke_gpu(const struct emugpu_gpu *gpu, struct list_head *ended)
{
	struct emugpu_block *block;

	emugpu_api_assert_held();
	list_for_each_entry(block, &blocks, node)
		if (!gpu || block->gpu == gpu)
			emugpu_block_revoke(block, ended);
}

/* @blocks begins with the newest block. */
static void revoke_oldest_first(const struct emugpu_gpu *gpu, struct list_head *ended)
{
	struct emugpu_block *block;

	list_for_each_entry_reverse(block, &blocks, node)
		if (!gpu || block->gpu == gpu)
			emugpu_block_revoke(block, ended);
}

void emugpu_block_revoke_all(const struct emugpu_gpu *gpu, bool oldest_first)
{
	LIST_HEAD(ended);

	emugpu_api_lock();
	if (oldest_first)
		revoke_oldest_first(gpu, &ended);
	else
		emugpu_block_revoke_gpu(gpu, &ended);
	emugpu_api_unlock();
	emugpu_export_notify(&ended);
}

u32 emugpu_block_count(const struct emugpu_gpu *gpu)
{
	struct emugpu_block *block;
	u32 n = 0;

	emugpu_api_assert_held();
	list_for_each_entry(block, &blocks, node)
		n += block->gpu == gpu;
	return n;
}
