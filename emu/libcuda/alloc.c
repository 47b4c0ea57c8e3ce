// SPDX-License-Identifier: MIT
#include "alloc.h"

#include "fit.h"
#include "init.h"
#include "node.h"
#include "space.h"

#include <search.h>
#include <stdlib.h>

enum {
	BLOCK = EMUGPU_BLOCK_SIZE,
	SHARED_MAX = 1 << 20,
};

/**
 * struct block - memory from the kernel
 * @link: in its context's list
 * @va: GPU address
 * @size: bytes, multiple of BLOCK
 * @ctx: whose
 * @fit: which ALLOC_ALIGN units are taken; NULL: one allocation has it all
 * @allocations: those in it; a block in a list has at least one
 */
struct block {
	TAILQ_ENTRY(block) link;
	CUdeviceptr va;
	size_t size;
	struct CUctx_st *ctx;
	struct fit *fit;
	LIST_HEAD(, allocation) allocations;
};

struct allocation {
	LIST_ENTRY(allocation) link;
	struct block *block;
	struct alloc_info info;
};

/* Every allocation by address, a balanced tree; under the library lock, as all else here. */
static void *tree;
static unsigned long long last_id;

/* Ranges that overlap are equal: a range of one byte finds the allocation around it. */
static int compare(const void *left, const void *right)
{
	const struct alloc_info *a = &((const struct allocation *)left)->info;
	const struct alloc_info *b = &((const struct allocation *)right)->info;

	if (a->addr + a->size <= b->addr)
		return -1;
	return a->addr >= b->addr + b->size;
}

static struct allocation *find(CUdeviceptr addr)
{
	const struct allocation key = { .info = { .addr = addr, .size = 1 } };
	void *node = tfind(&key, &tree, compare);

	return node ? *(struct allocation **)node : NULL;
}

static unsigned int units(size_t size)
{
	return (size + ALLOC_ALIGN - 1) / ALLOC_ALIGN;
}

static void forget(struct allocation *a)
{
	tdelete(a, &tree, compare);
	LIST_REMOVE(a, link);
	if (a->block->fit)
		fit_give(a->block->fit, (a->info.addr - a->block->va) / ALLOC_ALIGN, units(a->info.size));
}

/* ---- blocks ---------------------------------------------------------------- */

static void delete_block(struct block *b)
{
	fit_delete(b->fit);
	free(b);
}

static struct block *new_block(struct CUctx_st *ctx, size_t size)
{
	struct block *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->ctx = ctx;
	b->size = (size + BLOCK - 1) / BLOCK * BLOCK;
	LIST_INIT(&b->allocations);
	if (size > SHARED_MAX)
		return b;
	b->fit = fit_new(BLOCK / ALLOC_ALIGN);
	if (b->fit)
		return b;
	delete_block(b);
	return NULL;
}

static CUresult take_address(struct block *b)
{
	lib_lock();
	b->va = space_take(b->size);
	lib_unlock();
	return b->va ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static void give_address(const struct block *b)
{
	lib_lock();
	space_give(b->va, b->size);
	lib_unlock();
}

static CUresult get_block(struct CUctx_st *ctx, size_t size, struct block **out)
{
	struct block *b = new_block(ctx, size);
	CUresult err;

	if (!b)
		return CUDA_ERROR_OUT_OF_MEMORY;
	err = take_address(b);
	if (err)
		goto err_delete;
	err = node_alloc(ctx_device(ctx), b->va, b->size);
	if (err)
		goto err_address;
	*out = b;
	return CUDA_SUCCESS;

err_address:
	give_address(b);
err_delete:
	delete_block(b);
	return err;
}

/*
 * The caller has taken @b out of its list, so no other thread can reach it;
 * its address stays taken until the kernel has run the free callbacks. Should
 * the kernel refuse, the address is lost: it may still hold the block.
 */
static CUresult put_block(struct block *b)
{
	CUresult err = node_free(b->va);

	if (!err)
		give_address(b);
	delete_block(b);
	return err;
}

/* ---- allocations ------------------------------------------------------------ */

/*
 * Puts @a where others can find it, and its address into *@out: once the lock
 * is dropped a reset of the context may free @a.
 */
static bool place_in(struct block *b, struct allocation *a, CUdeviceptr *out)
{
	long at = b->fit ? fit_take(b->fit, units(a->info.size)) : 0;

	if (at < 0)
		return false;
	a->block = b;
	a->info.addr = b->va + at * ALLOC_ALIGN;
	LIST_INSERT_HEAD(&b->allocations, a, link);
	if (tsearch(a, &tree, compare)) {
		a->info.id = ++last_id;
		*out = a->info.addr;
		return true;
	}
	forget(a);
	return false;
}

static bool place_in_shared(struct allocation *a, CUdeviceptr *out)
{
	struct block *b;
	bool done = false;

	if (a->info.size > SHARED_MAX)
		return false;
	lib_lock();
	if (a->info.ctx->active) {
		TAILQ_FOREACH(b, &a->info.ctx->blocks, link) {
			done = b->fit && place_in(b, a, out);
			if (done)
				break;
		}
	}
	lib_unlock();
	return done;
}

/* The context may have ended while the kernel was asked for @b. */
static CUresult add_block(struct block *b, struct allocation *a, CUdeviceptr *out)
{
	CUresult err = CUDA_SUCCESS;

	lib_lock();
	if (!b->ctx->active)
		err = CUDA_ERROR_CONTEXT_IS_DESTROYED;
	else if (!place_in(b, a, out))
		err = CUDA_ERROR_OUT_OF_MEMORY;
	else
		TAILQ_INSERT_TAIL(&b->ctx->blocks, b, link);
	lib_unlock();
	return err;
}

static CUresult place(struct allocation *a, CUdeviceptr *out)
{
	struct block *b;
	CUresult err;

	if (place_in_shared(a, out))
		return CUDA_SUCCESS;
	err = get_block(a->info.ctx, a->info.size, &b);
	if (err)
		return err;
	err = add_block(b, a, out);
	if (err)
		put_block(b);
	return err;
}

CUresult alloc_create(struct CUctx_st *ctx, size_t size, CUdeviceptr *out)
{
	struct allocation *a;
	CUresult err;

	if (size > SIZE_MAX - BLOCK)
		return CUDA_ERROR_OUT_OF_MEMORY;
	a = calloc(1, sizeof(*a));
	if (!a)
		return CUDA_ERROR_OUT_OF_MEMORY;
	a->info.ctx = ctx;
	a->info.size = size;
	err = place(a, out);
	if (err)
		free(a);
	return err;
}

/* Forgets the allocation that begins at @addr; *@empty is its block if that was the last one in it. */
static bool take_out(CUdeviceptr addr, struct block **empty)
{
	struct allocation *a = find(addr);
	struct block *b;

	if (!a || a->info.addr != addr)
		return false;
	b = a->block;
	forget(a);
	free(a);
	*empty = NULL;
	if (LIST_EMPTY(&b->allocations)) {
		TAILQ_REMOVE(&b->ctx->blocks, b, link);
		*empty = b;
	}
	return true;
}

CUresult alloc_destroy(CUdeviceptr addr)
{
	struct block *empty;
	bool found;

	lib_lock();
	found = take_out(addr, &empty);
	lib_unlock();
	if (!found)
		return CUDA_ERROR_INVALID_VALUE;
	return empty ? put_block(empty) : CUDA_SUCCESS;
}

bool alloc_find(CUdeviceptr addr, struct alloc_info *out)
{
	const struct allocation *a;

	lib_lock();
	a = find(addr);
	if (a)
		*out = a->info;
	lib_unlock();
	return a;
}

bool alloc_set_sync_memops(CUdeviceptr addr, bool on)
{
	struct allocation *a;

	lib_lock();
	a = find(addr);
	if (a)
		a->info.sync_memops = on;
	lib_unlock();
	return a;
}

/* ---- the end of a context ----------------------------------------------------- */

static void forget_all(struct block *b)
{
	struct allocation *a;

	while ((a = LIST_FIRST(&b->allocations))) {
		forget(a);
		free(a);
	}
}

void alloc_detach_all(struct CUctx_st *ctx, struct block_list *blocks)
{
	struct block *b;

	TAILQ_FOREACH(b, &ctx->blocks, link)
		forget_all(b);
	TAILQ_CONCAT(blocks, &ctx->blocks, link);
}

void alloc_release(struct block_list *blocks)
{
	struct block *b;

	while ((b = TAILQ_FIRST(blocks))) {
		TAILQ_REMOVE(blocks, b, link);
		put_block(b);
	}
}
