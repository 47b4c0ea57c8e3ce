// SPDX-License-Identifier: MIT
/* Primary contexts: one per GPU, active while it is retained. */
#include "ctx.h"
#include "device.h"
#include "emu/cuda/export.h"
#include "init.h"

static CUresult check_device(CUdevice dev)
{
	CUresult err = lib_ready();

	if (err)
		return err;
	return device_get(dev) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

static CUresult retain(struct CUctx_st *ctx)
{
	CUresult err = ctx->active ? CUDA_SUCCESS : ctx_start(ctx);

	if (!err)
		ctx->refs++;
	return err;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *out, CUdevice dev)
{
	CUresult err = check_device(dev);

	if (err)
		return err;
	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	ctx_lock_lives();
	err = retain(ctx_primary(dev));
	ctx_unlock_lives();
	if (!err)
		*out = ctx_primary(dev);
	return err;
}

static CUresult release(struct CUctx_st *ctx)
{
	if (!ctx->refs)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!--ctx->refs)
		ctx_end(ctx);
	return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease(CUdevice dev)
{
	CUresult err = check_device(dev);

	if (err)
		return err;
	ctx_lock_lives();
	err = release(ctx_primary(dev));
	ctx_unlock_lives();
	return err;
}

CUresult cuDevicePrimaryCtxReset(CUdevice dev)
{
	CUresult err = check_device(dev);

	if (err)
		return err;
	ctx_lock_lives();
	ctx_end(ctx_primary(dev));
	ctx_unlock_lives();
	return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int *flags, int *active)
{
	CUresult err = check_device(dev);

	if (err)
		return err;
	if (!flags || !active)
		return CUDA_ERROR_INVALID_VALUE;
	*flags = ctx_primary(dev)->flags;
	*active = ctx_primary(dev)->active;
	return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxSetFlags(CUdevice dev, unsigned int flags)
{
	CUresult err = check_device(dev);

	if (err)
		return err;
	if (flags & ~CU_CTX_FLAGS_MASK)
		return CUDA_ERROR_INVALID_VALUE;
	ctx_primary(dev)->flags = flags;
	return CUDA_SUCCESS;
}

#undef cuDevicePrimaryCtxRelease
#undef cuDevicePrimaryCtxReset
#undef cuDevicePrimaryCtxSetFlags
ALIAS(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2);
ALIAS(cuDevicePrimaryCtxReset, cuDevicePrimaryCtxReset_v2);
ALIAS(cuDevicePrimaryCtxSetFlags, cuDevicePrimaryCtxSetFlags_v2);
