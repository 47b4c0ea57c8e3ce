// SPDX-License-Identifier: MIT
#include "ctx.h"

#include "device.h"
#include "emu/cuda/export.h"
#include "init.h"
#include "node.h"
#include "peer.h"
#include "set.h"
#include "stack.h"
#include "emu/cuda/variant.h"

#include <pthread.h>
#include <stdlib.h>

static struct CUctx_st primaries[MAX_DEVICES];

/* All contexts that cuCtxCreate() has made, ended contexts included; under the library lock. */
static struct set made;
static unsigned long long last_id;
static pthread_mutex_t lives = PTHREAD_MUTEX_INITIALIZER;

void ctx_setup(void)
{
	for (int i = 0; i < MAX_DEVICES; i++)
		primaries[i].device = i;
}

struct CUctx_st *ctx_primary(CUdevice dev)
{
	return &primaries[dev];
}

static bool is_primary(const struct CUctx_st *ctx)
{
	for (int i = 0; i < device_count(); i++)
		if (ctx == &primaries[i])
			return true;
	return false;
}

static bool is_made(const struct CUctx_st *ctx)
{
	bool has;

	lib_lock();
	has = set_has(&made, ctx);
	lib_unlock();
	return has;
}

bool ctx_is_handle(const struct CUctx_st *ctx)
{
	return is_primary(ctx) || is_made(ctx);
}

CUresult ctx_is_active(const struct CUctx_st *ctx)
{
	return atomic_load_explicit(&ctx->active, memory_order_relaxed) ? CUDA_SUCCESS :
									  CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

CUresult ctx_why(const struct CUctx_st *ctx, CUresult err)
{
	return err && ctx && ctx_is_active(ctx) ? CUDA_ERROR_CONTEXT_IS_DESTROYED : err;
}

CUresult ctx_enter(struct CUctx_st **ctx)
{
	CUresult err = lib_ready();

	if (err)
		return err;
	*ctx = stack_top();
	return *ctx ? ctx_is_active(*ctx) : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult ctx_enter_any(void)
{
	CUresult err = lib_ready();

	if (err)
		return err;
	return stack_top() ? ctx_is_active(stack_top()) : CUDA_SUCCESS;
}

CUresult ctx_resolve(CUcontext handle, struct CUctx_st **ctx)
{
	CUresult err = lib_ready();

	if (err)
		return err;
	*ctx = handle ? handle : stack_top();
	return ctx_is_handle(*ctx) ? ctx_is_active(*ctx) : CUDA_ERROR_INVALID_CONTEXT;
}

/* ---- lives ------------------------------------------------------------------------ */

void ctx_lock_lives(void)
{
	pthread_mutex_lock(&lives);
}

void ctx_unlock_lives(void)
{
	pthread_mutex_unlock(&lives);
}

CUresult ctx_start(struct CUctx_st *ctx)
{
	struct emugpu_context_new kernel;
	CUresult err = node_context(device_gpu(ctx->device), &kernel);

	if (err)
		return err;
	ctx->kernel_ctx = kernel.out_context;
	ctx->p2p_token = kernel.out_p2p_token;
	ctx->va_space = kernel.out_va_space;
	engine_open(&ctx->engine, ctx);
	lib_lock();
	ctx->id = ++last_id;
	LIST_INIT(&ctx->peers);
	heap_open(&ctx->heap);
	ctx->active = true;
	lib_unlock();
	return CUDA_SUCCESS;
}

/* If @ctx has host memory, waits for the work of all contexts: a copy of freed memory by the CPU would crash. */
static void wait_for_users(const struct CUctx_st *ctx)
{
	bool on_cpu;

	lib_lock();
	on_cpu = heap_is_on_cpu(&ctx->heap);
	lib_unlock();
	if (on_cpu)
		engine_wait_all();
}

void ctx_end(struct CUctx_st *ctx)
{
	struct block_list blocks = TAILQ_HEAD_INITIALIZER(blocks);

	if (!ctx->active)
		return;
	lib_lock();
	ctx->active = false;
	lib_unlock();
	engine_close(&ctx->engine);
	wait_for_users(ctx);
	lib_lock();
	heap_close(&ctx->heap, &blocks);
	peer_drop_all(ctx);
	lib_unlock();
	heap_release(&blocks);
	node_drop(ctx->kernel_ctx);
}

/* ---- contexts made by cuCtxCreate() ------------------------------------------------- */

static CUresult add(struct CUctx_st *ctx)
{
	bool done;

	lib_lock();
	done = set_add(&made, ctx);
	lib_unlock();
	return done ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static void forget(struct CUctx_st *ctx)
{
	lib_lock();
	set_remove(&made, ctx);
	lib_unlock();
	free(ctx);
}

static CUresult start_and_push(struct CUctx_st *ctx)
{
	CUresult err;

	ctx_lock_lives();
	err = ctx_start(ctx);
	if (!err) {
		err = stack_push(ctx);
		if (err)
			ctx_end(ctx);
	}
	ctx_unlock_lives();
	return err;
}

static CUresult make(unsigned int flags, CUdevice dev, CUcontext *out)
{
	struct CUctx_st *ctx = calloc(1, sizeof(*ctx));
	CUresult err;

	if (!ctx)
		return CUDA_ERROR_OUT_OF_MEMORY;
	ctx->device = dev;
	ctx->flags = flags;
	err = add(ctx);
	if (!err)
		err = start_and_push(ctx);
	if (err)
		forget(ctx);
	else
		*out = ctx;
	return err;
}

/* @no: error for an unsupported kind of context, or CUDA_SUCCESS */
static CUresult create(CUcontext *out, CUresult no, unsigned int flags, CUdevice dev)
{
	CUresult err = lib_ready();

	if (err)
		return err;
	if (no)
		return no;
	if (!device_get(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	return !out || flags & ~CU_CTX_FLAGS_MASK ? CUDA_ERROR_INVALID_VALUE : make(flags, dev, out);
}

CUresult cuCtxCreate_v2(CUcontext *out, unsigned int flags, CUdevice dev)
{
	return create(out, CUDA_SUCCESS, flags, dev);
}

/* Contexts for parts of a GPU need MPS, which the emulator lacks. */
static CUresult why_no_part(const CUexecAffinityParam *params, int n)
{
	if (n && !params)
		return CUDA_ERROR_INVALID_VALUE;
	return n ? CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY : CUDA_SUCCESS;
}

CUresult cuCtxCreate_v3(CUcontext *out, CUexecAffinityParam *params, int n, unsigned int flags, CUdevice dev)
{
	return create(out, why_no_part(params, n), flags, dev);
}

/* Contexts shared with graphics need a GPU with graphics. */
static CUresult why_not(const CUctxCreateParams *params)
{
	if (!params)
		return CUDA_SUCCESS;
	if (params->cigParams)
		return CUDA_ERROR_NOT_SUPPORTED;
	return why_no_part(params->execAffinityParams, params->numExecAffinityParams);
}

CUresult cuCtxCreate(CUcontext *out, CUctxCreateParams *params, unsigned int flags, CUdevice dev)
{
	return create(out, why_not(params), flags, dev);
}

static CUresult destroy(struct CUctx_st *ctx)
{
	CUresult err;

	ctx_lock_lives();
	err = ctx_is_active(ctx);
	ctx_end(ctx);
	ctx_unlock_lives();
	return err;
}

CUresult cuCtxDestroy(CUcontext ctx)
{
	CUresult err = lib_ready();

	if (err)
		return err;
	if (!ctx)
		return CUDA_ERROR_INVALID_VALUE;
	if (!is_made(ctx))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (stack_top() == ctx)
		stack_pop();
	return destroy(ctx);
}

#undef cuCtxCreate
#undef cuCtxDestroy
ALIAS(cuCtxCreate, cuCtxCreate_v2);
ALIAS(cuCtxDestroy, cuCtxDestroy_v2);
