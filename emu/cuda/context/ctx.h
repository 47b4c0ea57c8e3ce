/* SPDX-License-Identifier: MIT */
/*
 * ctx: contexts. Each GPU has a primary context, which is reference-counted and can start again.
 * Other contexts are made and destroyed once. Most calls with an ended context return
 * CUDA_ERROR_CONTEXT_IS_DESTROYED. Handles are never freed, so no use of a handle crashes.
 */
#ifndef CTX_H
#define CTX_H

#include "emu/cuda/stream/engine.h"
#include "emu/cuda/memory/heap.h"

#include <cuda.h>
#include <emugpu.h>
#include <stdatomic.h>
#include <stdbool.h>

enum {
	MAX_DEVICES = EMUGPU_GPUS_MAX,
	CTX_VERSION = 3020,	/* reported API version: the first with 64-bit addresses */
};

LIST_HEAD(peer_list, peer);

/**
 * struct CUctx_st - a context
 * @active: the context has started and not ended; written under the library lock
 * @refs: for a primary context: number of retain calls not yet released; under the lives lock
 * @device: the GPU
 * @flags: CU_CTX_*
 * @id: unique, never reused
 * @kernel_ctx: number of the context in the kernel (EMUGPU_IOC_CONTEXT)
 * @p2p_token: with @va_space, allows another process to pin the context's memory
 * @heap: memory allocated in the context; under the library lock
 * @peers: contexts on other GPUs to which this context has access; under the library lock
 * @engine: queued work of the context
 */
struct CUctx_st {
	atomic_bool active;
	unsigned int refs;
	CUdevice device;
	atomic_uint flags;
	unsigned long long id;
	unsigned int kernel_ctx;
	uint64_t p2p_token;
	unsigned int va_space;
	struct heap heap;
	struct peer_list peers;
	struct engine engine;
};

/* ctx_setup - called by cuInit() */
void ctx_setup(void);

/* ctx_device - the GPU of a context */
static inline CUdevice ctx_device(const struct CUctx_st *ctx)
{
	return ctx->device;
}

/* ctx_enter - first check of each call that needs a context; *@ctx: the active current context of this thread */
CUresult ctx_enter(struct CUctx_st **ctx);

/* ctx_enter_any - first check of calls that need no current context; fails if the current context has ended */
CUresult ctx_enter_any(void);

/* ctx_resolve - active context of a program's handle (NULL: the current context), or an error */
CUresult ctx_resolve(CUcontext handle, struct CUctx_st **ctx);

/* ctx_is_handle - whether @ctx is a context, active or ended */
bool ctx_is_handle(const struct CUctx_st *ctx);

/* ctx_is_active - CUDA_SUCCESS, or CUDA_ERROR_CONTEXT_IS_DESTROYED if @ctx has ended */
CUresult ctx_is_active(const struct CUctx_st *ctx);

/* ctx_why - returns @err, or CUDA_ERROR_CONTEXT_IS_DESTROYED if @ctx (may be NULL) has ended during the failed call */
CUresult ctx_why(const struct CUctx_st *ctx, CUresult err);

/* ctx_primary - the primary context of @dev, active or not */
struct CUctx_st *ctx_primary(CUdevice dev);

/* The lives lock serialises ctx_start() and ctx_end(). Ordered before all other locks. */
void ctx_lock_lives(void);
void ctx_unlock_lives(void);

/* ctx_start - start an inactive context; the caller has set its @device and @flags */
CUresult ctx_start(struct CUctx_st *ctx);

/*
 * ctx_end - end a context: refuse new work, finish queued work, remove the context's memory from
 * all look-ups, and free its blocks. The kernel runs the free callbacks of the blocks' pins.
 */
void ctx_end(struct CUctx_st *ctx);

#endif
