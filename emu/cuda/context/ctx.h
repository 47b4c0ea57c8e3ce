/* SPDX-License-Identifier: MIT */
/*
 * ctx: contexts. Each GPU has a primary one, which is counted and can come
 * back; others are made and destroyed once. A context that has ended is
 * CUDA_ERROR_CONTEXT_IS_DESTROYED wherever it is used; its handle is kept for
 * ever, so that no use of it is a crash.
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
	CTX_VERSION = 3020,	/* of the API that made them: 64-bit addresses */
};

LIST_HEAD(peer_list, peer);

/**
 * struct CUctx_st - a context
 * @active: it exists; written under the library lock
 * @refs: primary: retains that were not released; under the lock of lives
 * @device: the GPU
 * @flags: CU_CTX_*
 * @id: of no other context, and of none before
 * @kernel_ctx: its number in the kernel
 * @p2p_token: with @va_space, what lets another process pin its memory
 * @heap: memory that was allocated in it; under the library lock
 * @peers: contexts whose memory it has access to; under the library lock
 * @engine: what is to be done in it
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

/* ctx_setup - at cuInit() */
void ctx_setup(void);

/* ctx_device - the GPU of a context */
static inline CUdevice ctx_device(const struct CUctx_st *ctx)
{
	return ctx->device;
}

/* ctx_enter - what each call that needs a context checks first; *@ctx is this thread's, and it exists */
CUresult ctx_enter(struct CUctx_st **ctx);

/* ctx_enter_any - likewise for calls that also work in a thread without context, but not in a destroyed one */
CUresult ctx_enter_any(void);

/* ctx_resolve - a handle that a program gave, NULL for this thread's context; what exists, or why it does not */
CUresult ctx_resolve(CUcontext handle, struct CUctx_st **ctx);

/* ctx_is_handle - it is or was a context */
bool ctx_is_handle(const struct CUctx_st *ctx);

/* ctx_is_active - CUDA_ERROR_CONTEXT_IS_DESTROYED: it has ended */
CUresult ctx_is_active(const struct CUctx_st *ctx);

/* ctx_why - @err of what used @ctx (NULL: no context); CUDA_ERROR_CONTEXT_IS_DESTROYED: it failed for that has ended */
CUresult ctx_why(const struct CUctx_st *ctx, CUresult err);

/* ctx_primary - the primary context of @dev, active or not */
struct CUctx_st *ctx_primary(CUdevice dev);

/* Lives begin and end one by one: this lock is around ctx_start() and ctx_end(), and is taken before any other. */
void ctx_lock_lives(void);
void ctx_unlock_lives(void);

/* ctx_start - of a context that is not active; its @device and @flags are set */
CUresult ctx_start(struct CUctx_st *ctx);

/*
 * ctx_end - nothing new can begin in @ctx, its work is done, then its memory
 * is out of every look-up before the first block goes back to the kernel,
 * where free callbacks run
 */
void ctx_end(struct CUctx_st *ctx);

#endif
