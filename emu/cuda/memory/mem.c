// SPDX-License-Identifier: MIT
#include "mem.h"

#include "alloc.h"
#include "emu/cuda/context/device.h"
#include "emu/cuda/context/init.h"
#include "emu/cuda/context/node.h"
#include "emu/cuda/context/peer.h"
#include "pool.h"
#include "emu/cuda/context/stack.h"

/* The alignment of rows by cuMemAllocPitch() */
enum { PITCH = 512 };

CUresult mem_alloc(enum alloc_kind kind, size_t size, unsigned int flags, CUdeviceptr *out)
{
	struct alloc_info want = {
		.kind = kind, .size = size, .flags = flags, .sync_memops = kind == ALLOC_MANAGED,
	};
	CUresult err = ctx_enter(&want.ctx);

	if (err)
		return err;
	if (!out || !size)
		return CUDA_ERROR_INVALID_VALUE;
	want.device = ctx_device(want.ctx);
	return heap_alloc(&want, out);
}

CUresult cuMemAlloc(CUdeviceptr *out, size_t size)
{
	return mem_alloc(ALLOC_DEVICE, size, 0, out);
}

CUresult cuMemAllocPitch(CUdeviceptr *out, size_t *pitch, size_t width, size_t height, unsigned int element)
{
	CUresult err = lib_ready();
	size_t row;

	if (err)
		return err;
	if (!pitch || (element != 4 && element != 8 && element != 16))
		return CUDA_ERROR_INVALID_VALUE;
	row = (width + PITCH - 1) / PITCH * PITCH;
	if (row < width || (height && row > SIZE_MAX / height))
		return CUDA_ERROR_OUT_OF_MEMORY;
	err = mem_alloc(ALLOC_DEVICE, row * height, 0, out);
	if (!err)
		*pitch = row;
	return err;
}

/*
 * As in NVIDIA's driver, freeing pool memory waits for no work, and freeing other memory waits for
 * the work of its context. Work of other contexts on freed GPU memory fails later. A copy of freed
 * host memory by the CPU would crash instead, so wait for the work of all contexts.
 */
static CUresult wait_for_users(const struct alloc_info *info)
{
	if (info->kind == ALLOC_POOL)
		return CUDA_SUCCESS;
	if (alloc_on_cpu(info))
		engine_wait_all();
	return engine_wait(&info->ctx->engine);
}

CUresult mem_free(CUdeviceptr addr, unsigned int kinds)
{
	struct alloc_info info;
	CUresult err;
	bool gone;

	if (!alloc_find(addr, &info) || info.addr != addr || !(kinds >> info.kind & 1))
		return ctx_why(stack_top(), CUDA_ERROR_INVALID_VALUE);
	err = wait_for_users(&info);
	if (err)
		return err;
	err = heap_free(&info, &gone);
	if (gone)
		return ctx_why(stack_top(), err);
	if (info.pool)
		pool_put(info.pool);
	return err;
}

CUresult cuMemFree(CUdeviceptr ptr)
{
	CUresult err = ctx_enter_any();

	if (err || !ptr)
		return err;
	return mem_free(ptr, 1 << ALLOC_DEVICE | 1 << ALLOC_POOL | 1 << ALLOC_MANAGED);
}

CUresult cuMemGetInfo(size_t *available, size_t *total)
{
	struct emugpu_info info;
	struct CUctx_st *ctx;
	CUresult err = ctx_enter(&ctx);

	if (!err)
		err = node_info(device_gpu(ctx_device(ctx)), &info);
	if (err)
		return err;
	if (available)
		*available = info.out_vram_free;
	if (total)
		*total = info.out_vram_total;
	return CUDA_SUCCESS;
}

CUresult cuMemGetAddressRange(CUdeviceptr *base, size_t *size, CUdeviceptr ptr)
{
	struct alloc_info info;
	struct CUctx_st *ctx;
	CUresult err = ctx_enter(&ctx);

	if (err)
		return err;
	if (!alloc_find(ptr, &info) || !info.access || !peer_sees(ctx, &info))
		return ctx_why(ctx, CUDA_ERROR_NOT_FOUND);
	if (base)
		*base = info.addr;
	if (size)
		*size = info.size;
	return CUDA_SUCCESS;
}
