// SPDX-License-Identifier: MIT
#include "ctx.h"

#include "alloc.h"
#include "device.h"
#include "export.h"
#include "init.h"

enum { STACK_MAX = 64 };

static struct CUctx_st primaries[MAX_DEVICES];

static __thread struct {
	struct CUctx_st *ctx[STACK_MAX];
	unsigned int depth;
} stack;

CUdevice ctx_device(const struct CUctx_st *ctx)
{
	return ctx - primaries;
}

static bool is_handle(const struct CUctx_st *ctx)
{
	for (int i = 0; i < device_count(); i++)
		if (ctx == &primaries[i])
			return true;
	return false;
}

static struct CUctx_st *current(void)
{
	return stack.depth ? stack.ctx[stack.depth - 1] : NULL;
}

static CUresult state_of(const struct CUctx_st *ctx)
{
	return atomic_load_explicit(&ctx->active, memory_order_relaxed) ? CUDA_SUCCESS :
									  CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

CUresult ctx_enter(struct CUctx_st **ctx)
{
	CUresult err = lib_ready();

	if (err)
		return err;
	*ctx = current();
	return *ctx ? state_of(*ctx) : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult ctx_enter_any(void)
{
	CUresult err = lib_ready();

	if (err)
		return err;
	return current() ? state_of(current()) : CUDA_SUCCESS;
}

/* ---- primary contexts ---------------------------------------------------- */

static CUresult check_device(CUdevice dev)
{
	CUresult err = lib_ready();

	if (err)
		return err;
	return device_get(dev) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *out, CUdevice dev)
{
	CUresult err = check_device(dev);
	struct CUctx_st *ctx;

	if (err)
		return err;
	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	ctx = &primaries[dev];
	lib_lock();
	if (!ctx->active)
		TAILQ_INIT(&ctx->blocks);
	ctx->active = true;
	ctx->refs++;
	lib_unlock();
	*out = ctx;
	return CUDA_SUCCESS;
}

/*
 * Ends @ctx if @ending, which the caller decided with the library lock held;
 * drops the lock. Its memory is out of every look-up and nothing can be
 * allocated in it before the first block goes back to the kernel, where free
 * callbacks run.
 */
static void unlock_and_end(struct CUctx_st *ctx, bool ending)
{
	struct block_list blocks = TAILQ_HEAD_INITIALIZER(blocks);

	if (ending && ctx->active) {
		ctx->active = false;
		alloc_detach_all(ctx, &blocks);
	}
	lib_unlock();
	alloc_release(&blocks);
}

CUresult cuDevicePrimaryCtxRelease(CUdevice dev)
{
	CUresult err = check_device(dev);
	struct CUctx_st *ctx;

	if (err)
		return err;
	ctx = &primaries[dev];
	lib_lock();
	if (ctx->refs)
		ctx->refs--;
	else
		err = CUDA_ERROR_INVALID_CONTEXT;
	unlock_and_end(ctx, !ctx->refs);
	return err;
}

CUresult cuDevicePrimaryCtxReset(CUdevice dev)
{
	CUresult err = check_device(dev);

	if (err)
		return err;
	lib_lock();
	unlock_and_end(&primaries[dev], true);
	return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int *flags, int *active)
{
	CUresult err = check_device(dev);

	if (err)
		return err;
	if (!flags || !active)
		return CUDA_ERROR_INVALID_VALUE;
	*flags = 0;
	*active = primaries[dev].active;
	return CUDA_SUCCESS;
}

/* ---- the stack of a thread ------------------------------------------------- */

CUresult cuCtxGetCurrent(CUcontext *out)
{
	CUresult err = lib_ready();

	if (err)
		return err;
	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	*out = current();
	return CUDA_SUCCESS;
}

static CUresult push(struct CUctx_st *ctx)
{
	if (!is_handle(ctx))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (stack.depth == STACK_MAX)
		return CUDA_ERROR_OUT_OF_MEMORY;
	stack.ctx[stack.depth++] = ctx;
	return CUDA_SUCCESS;
}

/* Replaces the top of the stack; NULL takes it away. */
CUresult cuCtxSetCurrent(CUcontext ctx)
{
	CUresult err = lib_ready();

	if (err)
		return err;
	if (ctx && !is_handle(ctx))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (stack.depth)
		stack.depth--;
	return ctx ? push(ctx) : CUDA_SUCCESS;
}

CUresult cuCtxPushCurrent(CUcontext ctx)
{
	CUresult err = lib_ready();

	if (err)
		return err;
	return ctx ? push(ctx) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuCtxPopCurrent(CUcontext *out)
{
	CUresult err = lib_ready();

	if (err)
		return err;
	if (!stack.depth)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (out)
		*out = current();
	stack.depth--;
	return CUDA_SUCCESS;
}

/* NULL stands for the current context. */
CUresult cuCtxGetDevice_v2(CUdevice *device, CUcontext ctx)
{
	CUresult err = lib_ready();

	if (err)
		return err;
	if (!device)
		return CUDA_ERROR_INVALID_VALUE;
	if (!ctx)
		ctx = current();
	if (!is_handle(ctx))
		return CUDA_ERROR_INVALID_CONTEXT;
	*device = ctx_device(ctx);
	return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice *device)
{
	return cuCtxGetDevice_v2(device, NULL);
}

CUresult cuCtxSynchronize_v2(CUcontext ctx)
{
	CUresult err = lib_ready();

	if (err)
		return err;
	if (!ctx)
		ctx = current();
	return is_handle(ctx) ? state_of(ctx) : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuCtxSynchronize(void)
{
	return cuCtxSynchronize_v2(NULL);
}

#undef cuDevicePrimaryCtxRelease
#undef cuDevicePrimaryCtxReset
#undef cuCtxPushCurrent
#undef cuCtxPopCurrent
ALIAS(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2);
ALIAS(cuDevicePrimaryCtxReset, cuDevicePrimaryCtxReset_v2);
ALIAS(cuCtxPushCurrent, cuCtxPushCurrent_v2);
ALIAS(cuCtxPopCurrent, cuCtxPopCurrent_v2);
