// SPDX-License-Identifier: MIT
#include "stack.h"

#include "emu/cuda/export.h"
#include "init.h"

enum { STACK_MAX = 64 };

static __thread struct {
	struct CUctx_st *ctx[STACK_MAX];
	unsigned int depth;
} stack;

struct CUctx_st *stack_top(void)
{
	return stack.depth ? stack.ctx[stack.depth - 1] : NULL;
}

CUresult stack_push(struct CUctx_st *ctx)
{
	if (stack.depth == STACK_MAX)
		return CUDA_ERROR_OUT_OF_MEMORY;
	stack.ctx[stack.depth++] = ctx;
	return CUDA_SUCCESS;
}

void stack_pop(void)
{
	stack.depth--;
}

CUresult cuCtxGetCurrent(CUcontext *out)
{
	CUresult err = lib_ready();

	if (err)
		return err;
	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	*out = stack_top();
	return CUDA_SUCCESS;
}

/* Replaces the top of the stack; if @ctx is NULL, pops the top. */
CUresult cuCtxSetCurrent(CUcontext ctx)
{
	CUresult err = lib_ready();

	if (err)
		return err;
	if (ctx && !ctx_is_handle(ctx))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (stack_top())
		stack_pop();
	return ctx ? stack_push(ctx) : CUDA_SUCCESS;
}

CUresult cuCtxPushCurrent(CUcontext ctx)
{
	CUresult err = lib_ready();

	if (err)
		return err;
	if (!ctx)
		return CUDA_ERROR_INVALID_VALUE;
	return ctx_is_handle(ctx) ? stack_push(ctx) : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuCtxPopCurrent(CUcontext *out)
{
	CUresult err = lib_ready();

	if (err)
		return err;
	if (!stack_top())
		return CUDA_ERROR_INVALID_CONTEXT;
	if (out)
		*out = stack_top();
	stack_pop();
	return CUDA_SUCCESS;
}

#undef cuCtxPushCurrent
#undef cuCtxPopCurrent
ALIAS(cuCtxPushCurrent, cuCtxPushCurrent_v2);
ALIAS(cuCtxPopCurrent, cuCtxPopCurrent_v2);
