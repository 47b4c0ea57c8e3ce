// SPDX-License-Identifier: MIT
/*
 * async: stream-ordered memory from pools. Memory is allocated at the call, not when the stream
 * reaches the allocation; work in the stream cannot see the difference. Memory is freed when the
 * stream reaches the free. Look-ups find memory of a pool only until cuMemFreeAsync() is called.
 */
#include "emu/cuda/memory/alloc.h"
#include "emu/cuda/memory/pool.h"
#include "stream.h"
#include "emu/cuda/variant.h"

#include <stdlib.h>

/* Passes the caller's reference to @pool on to the allocation. If @size is 0, *@out is 0. */
static CUresult alloc(CUdeviceptr *out, size_t size, CUmemoryPool pool)
{
	struct alloc_info want = { .kind = ALLOC_POOL, .size = size, .device = pool->device, .pool = pool };
	CUresult err;

	*out = 0;
	err = size ? heap_alloc(&want, out) : CUDA_SUCCESS;
	if (err || !size)
		pool_put(pool);
	return err;
}

static CUresult enter(const CUdeviceptr *out, CUstream stream, struct CUctx_st **ctx)
{
	CUresult err = stream_ctx(stream, ctx);

	if (err)
		return err;
	return out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemAllocAsync(CUdeviceptr *out, size_t size, CUstream stream)
{
	struct CUctx_st *ctx;
	CUresult err = enter(out, stream, &ctx);

	return err ? err : alloc(out, size, pool_of_device(ctx_device(ctx)));
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr *out, size_t size, CUmemoryPool pool, CUstream stream)
{
	struct CUctx_st *ctx;
	CUresult err = enter(out, stream, &ctx);

	if (!err)
		err = pool_get(pool);
	return err ? err : alloc(out, size, pool);
}

/**
 * struct freeing - work of a stream that frees memory
 * @was: the allocation to free, as cuMemFreeAsync() found it
 * @a: the same allocation, removed from all look-ups, if its memory is from a pool. NULL: memory of
 *	cuMemAlloc(), which the end of its context may have freed already
 */
struct freeing {
	struct work work;
	struct alloc_info was;
	struct allocation *a;
};

static CUresult give_back(struct allocation *a, CUmemoryPool pool)
{
	CUresult err = heap_give(a);

	pool_put(pool);
	return err;
}

static CUresult free_in_place(const struct alloc_info *was)
{
	bool gone;
	CUresult err = heap_free(was, &gone);

	return gone ? CUDA_ERROR_ILLEGAL_ADDRESS : err;
}

/* Frees the memory even if other work has failed. */
static CUresult run(struct work *work, CUresult error)
{
	const struct freeing *f = (struct freeing *)work;

	(void)error;
	return f->a ? give_back(f->a, f->was.pool) : free_in_place(&f->was);
}

static void finish(struct work *work)
{
	free(work);
}

static struct freeing *new_freeing(const struct alloc_info *was)
{
	struct freeing *f = malloc(sizeof(*f));

	if (f)
		*f = (struct freeing){ .work = { .run = run, .finish = finish }, .was = *was };
	return f;
}

static CUresult free_device(CUstream stream, const struct alloc_info *info)
{
	struct freeing *f = new_freeing(info);

	return f ? stream_enqueue(stream, &f->work) : CUDA_ERROR_OUT_OF_MEMORY;
}

/* If the stream refuses the work, frees the memory at once: no later call would find the memory. */
static CUresult free_pools(CUstream stream, const struct alloc_info *info)
{
	struct freeing *f = new_freeing(info);
	struct allocation *a;
	CUmemoryPool pool;
	CUresult err;

	if (!f)
		return CUDA_ERROR_OUT_OF_MEMORY;
	a = heap_take(info);
	if (!a) {
		free(f);
		return CUDA_ERROR_INVALID_VALUE;
	}
	pool = f->was.pool;
	f->a = a;
	err = stream_enqueue(stream, &f->work);
	if (err)
		give_back(a, pool);
	return err;
}

/* Also accepts memory of cuMemAlloc(). */
CUresult cuMemFreeAsync(CUdeviceptr addr, CUstream stream)
{
	struct alloc_info info;
	struct CUctx_st *ctx;
	CUresult err = stream_ctx(stream, &ctx);

	if (err || !addr)
		return err;
	if (!alloc_find(addr, &info) || info.addr != addr)
		return ctx_why(ctx, CUDA_ERROR_INVALID_VALUE);
	switch (info.kind) {
	case ALLOC_DEVICE:
		return free_device(stream, &info);
	case ALLOC_POOL:
		return ctx_why(ctx, free_pools(stream, &info));
	case ALLOC_MANAGED:
		return CUDA_ERROR_NOT_SUPPORTED;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

CUresult cuMemAllocAsync_ptsz(CUdeviceptr *out, size_t size, CUstream stream)
{
	return cuMemAllocAsync(out, size, stream_ptsz(stream));
}

CUresult cuMemAllocFromPoolAsync_ptsz(CUdeviceptr *out, size_t size, CUmemoryPool pool, CUstream stream)
{
	return cuMemAllocFromPoolAsync(out, size, pool, stream_ptsz(stream));
}

CUresult cuMemFreeAsync_ptsz(CUdeviceptr addr, CUstream stream)
{
	return cuMemFreeAsync(addr, stream_ptsz(stream));
}
