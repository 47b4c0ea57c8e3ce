// SPDX-License-Identifier: MIT
/*
 * async: memory from pools in the order of a stream. It is there when the call
 * returns, which no stream can tell from later; it is given back when the
 * stream comes to it, and no look-up finds it from the call on.
 */
#include "alloc.h"
#include "mem.h"
#include "pool.h"
#include "stream.h"
#include "variant.h"

#include <stdlib.h>

/* Takes the caller's use of @pool, for as long as the allocation is there. No bytes are at address 0. */
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
 * struct freeing - work of a stream
 * @a: forgotten allocation
 * @pool: what it is from
 */
struct freeing {
	struct work work;
	struct allocation *a;
	CUmemoryPool pool;
};

static CUresult give_back(struct allocation *a, CUmemoryPool pool)
{
	CUresult err = heap_give(a);

	pool_put(pool);
	return err;
}

/* Memory goes back even if other work has failed. */
static CUresult run(struct work *work, CUresult error)
{
	struct freeing *f = (struct freeing *)work;

	(void)error;
	return give_back(f->a, f->pool);
}

static void finish(struct work *work)
{
	free(work);
}

/* A refused one is given back at once: its stream does nothing any more. */
static CUresult free_in_order(struct freeing *f, CUdeviceptr addr, CUstream stream)
{
	struct alloc_info was;
	struct allocation *a = heap_take(addr, &was);
	CUresult err;

	if (!a) {
		free(f);
		return CUDA_ERROR_INVALID_VALUE;
	}
	*f = (struct freeing){ .work = { .run = run, .finish = finish }, .a = a, .pool = was.pool };
	err = stream_enqueue(stream, &f->work);
	if (err)
		give_back(a, was.pool);
	return err;
}

static bool is_pools(CUdeviceptr addr)
{
	struct alloc_info info;

	return !alloc_find(addr, &info) || info.kind == ALLOC_POOL;
}

/* Memory of cuMemAlloc() will do, too; it is freed at once, which waits for all work. */
CUresult cuMemFreeAsync(CUdeviceptr addr, CUstream stream)
{
	struct freeing *f;
	struct CUctx_st *ctx;
	CUresult err = stream_ctx(stream, &ctx);

	if (err || !addr)
		return err;
	if (!is_pools(addr))
		return mem_free(addr, 1 << ALLOC_DEVICE);
	f = malloc(sizeof(*f));
	return f ? free_in_order(f, addr, stream) : CUDA_ERROR_OUT_OF_MEMORY;
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
