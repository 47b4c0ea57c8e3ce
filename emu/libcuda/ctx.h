/* SPDX-License-Identifier: MIT */
/*
 * ctx: primary contexts, one a GPU, and each thread's stack of them. A handle
 * stays the same for ever: after the last release, or a reset, the context is
 * destroyed (CUDA_ERROR_CONTEXT_IS_DESTROYED) until it is retained again.
 */
#ifndef CTX_H
#define CTX_H

#include <cuda.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/queue.h>

enum { MAX_DEVICES = 16 };

struct block;
TAILQ_HEAD(block_list, block);

/**
 * struct CUctx_st - the primary context of a GPU
 * @active: it exists; written under the library lock
 * @refs: retains that were not released; under the library lock
 * @blocks: GPU memory that was allocated in it; under the library lock
 */
struct CUctx_st {
	atomic_bool active;
	unsigned int refs;
	struct block_list blocks;
};

/* ctx_device - the GPU of a context */
CUdevice ctx_device(const struct CUctx_st *ctx);

/* ctx_enter - what each call that needs a context checks first; *@ctx is this thread's, and it exists */
CUresult ctx_enter(struct CUctx_st **ctx);

/* ctx_enter_any - likewise for calls that also work in a thread without context, but not in a destroyed one */
CUresult ctx_enter_any(void);

#endif
