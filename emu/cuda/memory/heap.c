// SPDX-License-Identifier: MIT
#include "heap.h"

#include "alloc.h"
#include "block.h"
#include "emu/cuda/context/init.h"
#include "pool.h"

#include <emugpu.h>
#include <stddef.h>
#include <stdlib.h>

/* Sizes of GPU memory blocks are multiples of GRAIN. */
enum { GRAIN = EMUGPU_BLOCK_SIZE };

struct allocation {
	LIST_ENTRY(allocation) link;
	struct block *block;
	struct alloc_info info;
};

static struct heap *heap_of(const struct alloc_info *want)
{
	return want->pool ? &want->pool->heap : &want->ctx->heap;
}

static size_t units(size_t size)
{
	return (size + HEAP_ALIGN - 1) / HEAP_ALIGN;
}

static void count(uint64_t *now, uint64_t *high, size_t size)
{
	*now += size;
	if (*now > *high)
		*high = *now;
}

static void insert_block(struct heap *heap, struct block *b)
{
	b->heap = heap;
	b->id = alloc_new_id();
	TAILQ_INSERT_TAIL(&heap->blocks, b, link);
	count(&heap->reserved, &heap->reserved_high, b->size);
}

static void remove_block(struct block *b)
{
	TAILQ_REMOVE(&b->heap->blocks, b, link);
	b->heap->reserved -= b->size;
}

/* ---- allocations ------------------------------------------------------------ */

static CUmemAccess_flags access_of(const struct alloc_info *info)
{
	return info->kind == ALLOC_REGISTERED && info->flags & CU_MEMHOSTREGISTER_READ_ONLY ?
		       CU_MEM_ACCESS_FLAGS_PROT_READ :
		       CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
}

static void describe(struct allocation *a, struct block *b, CUdeviceptr addr)
{
	a->block = b;
	a->info.addr = addr;
	a->info.rdma = block_allows_rdma(b);
	a->info.access = access_of(&a->info);
	a->info.range = addr;
	a->info.range_size = a->info.size;
	a->info.mapping = b->va;
	a->info.mapping_size = b->size;
	a->info.mapping_id = b->id;
}

static void link_to_block(struct allocation *a)
{
	struct heap *heap = a->block->heap;

	LIST_INSERT_HEAD(&a->block->allocations, a, link);
	count(&heap->used, &heap->used_high, a->info.size);
}

/* The caller has removed @a from the look-ups. */
static void delete_allocation(struct allocation *a)
{
	struct block *b = a->block;

	LIST_REMOVE(a, link);
	b->heap->used -= a->info.size;
	if (b->fit)
		fit_give(b->fit, (a->info.addr - b->va) / HEAP_ALIGN, units(a->info.size));
	free(a);
}

/*
 * Makes @a findable and stores its address in *@out. After the caller has dropped the
 * library lock, a reset of the context may free @a.
 */
static bool place_in(struct block *b, struct allocation *a, CUdeviceptr *out)
{
	long at = b->fit ? fit_take(b->fit, units(a->info.size)) : 0;

	if (at < 0)
		return false;
	describe(a, b, b->va + at * HEAP_ALIGN);
	if (!alloc_add(&a->info)) {
		if (b->fit)
			fit_give(b->fit, at, units(a->info.size));
		return false;
	}
	link_to_block(a);
	*out = a->info.addr;
	return true;
}

/* Whether @want can go into block @b: a shared block if @shared, else an empty block (of a pool) of the right size. */
static bool suits(const struct block *b, const struct alloc_info *want, bool shared)
{
	if (b->kind != want->kind)
		return false;
	if (shared || b->fit)
		return shared && b->fit;
	return LIST_EMPTY(&b->allocations) && b->size >= want->size && b->size - want->size < GRAIN;
}

static bool place_in_old(struct allocation *a, CUdeviceptr *out, unsigned long *life)
{
	struct heap *heap = heap_of(&a->info);
	bool shared = block_is_shared(&a->info), done = false;
	struct block *b;

	lib_lock();
	*life = heap->life;
	if (heap->open && (shared || a->info.pool)) {
		TAILQ_FOREACH(b, &heap->blocks, link) {
			done = suits(b, &a->info, shared) && place_in(b, a, out);
			if (done)
				break;
		}
	}
	lib_unlock();
	return done;
}

/* During block_get() the heap may have been closed, and opened again with other tokens: @life detects that. */
static CUresult place_in_new(struct block *b, struct allocation *a, CUdeviceptr *out, unsigned long life)
{
	struct heap *heap = heap_of(&a->info);
	CUresult err = CUDA_SUCCESS;

	lib_lock();
	if (!heap->open || heap->life != life) {
		err = CUDA_ERROR_CONTEXT_IS_DESTROYED;
	} else if (heap->most && heap->reserved + b->size > heap->most) {
		err = CUDA_ERROR_OUT_OF_MEMORY;
	} else {
		insert_block(heap, b);
		if (!place_in(b, a, out)) {
			remove_block(b);
			err = CUDA_ERROR_OUT_OF_MEMORY;
		}
	}
	lib_unlock();
	return err;
}

/* In a pool with a limit, frees kept empty blocks to make room for a new block of @size bytes. */
static void make_room(struct heap *heap, size_t size)
{
	if (heap->most)
		heap_trim(heap, heap->most > size + GRAIN ? heap->most - size - GRAIN : 0);
}

static CUresult place(struct allocation *a, CUdeviceptr *out)
{
	unsigned long life;
	struct block *b;
	CUresult err;

	if (place_in_old(a, out, &life))
		return CUDA_SUCCESS;
	make_room(heap_of(&a->info), a->info.size);
	err = block_get(&a->info, &b);
	if (err)
		return err;
	err = place_in_new(b, a, out, life);
	if (err)
		block_put(b);
	return err;
}

CUresult heap_alloc(const struct alloc_info *want, CUdeviceptr *out)
{
	struct allocation *a;
	CUresult err;

	if (want->size > SIZE_MAX - GRAIN)
		return CUDA_ERROR_OUT_OF_MEMORY;
	a = calloc(1, sizeof(*a));
	if (!a)
		return CUDA_ERROR_OUT_OF_MEMORY;
	a->info = *want;
	err = place(a, out);
	if (err)
		free(a);
	return err;
}

/* Removes @found from the look-ups; NULL: freed meanwhile. */
static struct allocation *take(const struct alloc_info *found)
{
	struct alloc_info *info = alloc_again(found);

	if (!info)
		return NULL;
	alloc_remove(info);
	return (struct allocation *)((char *)info - offsetof(struct allocation, info));
}

/* Deletes @a. Returns its block for block_put() if the block is empty and not to be kept, else NULL. */
static struct block *give(struct allocation *a)
{
	struct block *b = a->block;
	struct heap *heap = b->heap;

	delete_allocation(a);
	if (!LIST_EMPTY(&b->allocations) || heap->reserved <= heap->keep)
		return NULL;
	remove_block(b);
	return b;
}

struct allocation *heap_take(const struct alloc_info *found)
{
	struct allocation *a;

	lib_lock();
	a = take(found);
	lib_unlock();
	return a;
}

CUresult heap_give(struct allocation *a)
{
	struct block *empty;

	lib_lock();
	empty = give(a);
	lib_unlock();
	return empty ? block_put(empty) : CUDA_SUCCESS;
}

CUresult heap_free(const struct alloc_info *found, bool *gone)
{
	struct block *empty = NULL;
	struct allocation *a;

	lib_lock();
	a = take(found);
	if (a)
		empty = give(a);
	lib_unlock();
	*gone = !a;
	if (!a)
		return CUDA_ERROR_INVALID_VALUE;
	return empty ? block_put(empty) : CUDA_SUCCESS;
}

/* ---- whole heaps -------------------------------------------------------------- */

void heap_open(struct heap *heap)
{
	TAILQ_INIT(&heap->blocks);
	heap->open = true;
	heap->life++;
}

static void forget_all(struct block *b)
{
	struct allocation *a;

	while ((a = LIST_FIRST(&b->allocations))) {
		alloc_remove(&a->info);
		delete_allocation(a);
	}
}

void heap_close(struct heap *heap, struct block_list *blocks)
{
	struct block *b;

	heap->open = false;
	TAILQ_FOREACH(b, &heap->blocks, link)
		forget_all(b);
	TAILQ_CONCAT(blocks, &heap->blocks, link);
	heap->reserved = 0;
}

bool heap_is_on_cpu(const struct heap *heap)
{
	const struct block *b;

	TAILQ_FOREACH(b, &heap->blocks, link)
		if (alloc_kind_on_cpu(b->kind))
			return true;
	return false;
}

void heap_release(struct block_list *blocks)
{
	struct block *b;

	while ((b = TAILQ_FIRST(blocks))) {
		TAILQ_REMOVE(blocks, b, link);
		block_put(b);
	}
}

void heap_trim(struct heap *heap, uint64_t keep)
{
	struct block_list empty = TAILQ_HEAD_INITIALIZER(empty);
	struct block *b, *next;

	lib_lock();
	for (b = TAILQ_FIRST(&heap->blocks); b && heap->reserved > keep; b = next) {
		next = TAILQ_NEXT(b, link);
		if (!LIST_EMPTY(&b->allocations))
			continue;
		remove_block(b);
		TAILQ_INSERT_TAIL(&empty, b, link);
	}
	lib_unlock();
	heap_release(&empty);
}
