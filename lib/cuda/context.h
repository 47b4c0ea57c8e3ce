/* SPDX-License-Identifier: MIT */
/*
 * CUDA contexts for threads that have no current context, for example threads of a
 * library. Most CUDA calls on a pointer use the current context.
 */
#ifndef PP_CONTEXT_H
#define PP_CONTEXT_H

#include <stdbool.h>
#include <stdint.h>

/**
 * struct pp_context - state of one pp_context_enter()
 * @pushed: true if pp_context_enter() has pushed a context
 * @held: GPU whose primary context was retained; -1: none
 */
struct pp_context {
	bool pushed;
	int held;
};

/**
 * pp_context_enter - make a context for GPU memory current in the calling thread
 * @addr: an address in the GPU memory
 *
 * Does nothing if the thread has a current context. Otherwise pushes the context of
 * the memory. Memory of pools has no context: then pushes the primary context of the
 * GPU, which CUDA creates if necessary. If this fails, the caller's next CUDA call
 * reports the error.
 */
void pp_context_enter(struct pp_context *c, uint64_t addr);

void pp_context_leave(struct pp_context *c);

#endif
