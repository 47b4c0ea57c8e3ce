// SPDX-License-Identifier: MIT
/* Attributes of contexts. */
#include "ctx.h"
#include "init.h"
#include "stack.h"
#include "emu/cuda/stream/stream.h"

/* NULL stands for the current context. Also reports the GPU of an ended context. */
CUresult cuCtxGetDevice_v2(CUdevice *device, CUcontext ctx)
{
	CUresult err = lib_ready();

	if (err)
		return err;
	if (!device)
		return CUDA_ERROR_INVALID_VALUE;
	if (!ctx)
		ctx = stack_top();
	if (!ctx_is_handle(ctx))
		return CUDA_ERROR_INVALID_CONTEXT;
	*device = ctx_device(ctx);
	return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice *device)
{
	return cuCtxGetDevice_v2(device, NULL);
}

CUresult cuCtxSynchronize_v2(CUcontext handle)
{
	struct CUctx_st *ctx;
	CUresult err = ctx_resolve(handle, &ctx);

	return err ? err : engine_wait(&ctx->engine);
}

CUresult cuCtxSynchronize(void)
{
	return cuCtxSynchronize_v2(NULL);
}

/* A primary context reports CU_CTX_MAP_HOST, as in NVIDIA's driver. All contexts map host memory. */
CUresult cuCtxGetFlags(unsigned int *flags)
{
	struct CUctx_st *ctx;
	CUresult err = ctx_enter(&ctx);

	if (err)
		return err;
	if (!flags)
		return CUDA_ERROR_INVALID_VALUE;
	*flags = ctx->flags | (ctx == ctx_primary(ctx->device) ? CU_CTX_MAP_HOST : 0);
	return CUDA_SUCCESS;
}

/* Never clears CU_CTX_MAP_HOST. */
CUresult cuCtxSetFlags(unsigned int flags)
{
	struct CUctx_st *ctx;
	CUresult err = ctx_enter(&ctx);

	if (err)
		return err;
	if (flags & ~CU_CTX_FLAGS_MASK)
		return CUDA_ERROR_INVALID_VALUE;
	ctx->flags = (ctx->flags & CU_CTX_MAP_HOST) | flags;
	return CUDA_SUCCESS;
}

CUresult cuCtxGetId(CUcontext handle, unsigned long long *id)
{
	struct CUctx_st *ctx;
	CUresult err = ctx_resolve(handle, &ctx);

	if (err)
		return err;
	if (!id)
		return CUDA_ERROR_INVALID_VALUE;
	*id = ctx->id;
	return CUDA_SUCCESS;
}

/* For an ended context, returns INVALID_CONTEXT instead of CONTEXT_IS_DESTROYED, as NVIDIA's driver does. */
CUresult cuCtxGetApiVersion(CUcontext handle, unsigned int *version)
{
	struct CUctx_st *ctx;
	CUresult err = ctx_resolve(handle, &ctx);

	if (err)
		return err == CUDA_ERROR_CONTEXT_IS_DESTROYED ? CUDA_ERROR_INVALID_CONTEXT : err;
	if (!version)
		return CUDA_ERROR_INVALID_VALUE;
	*version = CTX_VERSION;
	return CUDA_SUCCESS;
}

CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
	struct CUctx_st *ctx;
	CUresult err = ctx_enter(&ctx);

	if (err)
		return err;
	if (least)
		*least = STREAM_PRIORITY_LEAST;
	if (greatest)
		*greatest = STREAM_PRIORITY_GREATEST;
	return CUDA_SUCCESS;
}
