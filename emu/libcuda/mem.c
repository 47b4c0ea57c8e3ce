// SPDX-License-Identifier: MIT
#include "alloc.h"
#include "init.h"
#include "node.h"

CUresult cuMemAlloc(CUdeviceptr *out, size_t size)
{
	struct CUctx_st *ctx;
	CUresult err = ctx_enter(&ctx);

	if (err)
		return err;
	if (!out || !size)
		return CUDA_ERROR_INVALID_VALUE;
	return alloc_create(ctx, size, out);
}

CUresult cuMemFree(CUdeviceptr ptr)
{
	CUresult err = ctx_enter_any();

	if (err || !ptr)
		return err;
	return alloc_destroy(ptr);
}

CUresult cuMemGetInfo(size_t *available, size_t *total)
{
	struct emugpu_info info;
	struct CUctx_st *ctx;
	CUresult err = ctx_enter(&ctx);

	if (!err)
		err = node_info(ctx_device(ctx), &info);
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
	if (!alloc_find(ptr, &info))
		return CUDA_ERROR_NOT_FOUND;
	if (base)
		*base = info.addr;
	if (size)
		*size = info.size;
	return CUDA_SUCCESS;
}
