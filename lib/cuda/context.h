/* SPDX-License-Identifier: MIT */
/*
 * CUDA contexts, for threads that have none current, as a library's own may not:
 * most of what CUDA does for a pointer it does in whichever is current.
 */
#ifndef PP_CONTEXT_H
#define PP_CONTEXT_H

#include <stdbool.h>
#include <stdint.h>

/**
 * struct pp_context - what one call has current
 * @pushed: it is this call's doing
 * @held: the GPU whose primary context is kept meanwhile; -1: of none
 */
struct pp_context {
	bool pushed;
	int held;
};

/**
 * pp_context_enter - let the calling thread have a context for GPU memory
 * @addr: in that memory
 *
 * Leaves what is current as it is; else the one that the memory is of, or of memory
 * that is of none, as that of pools, its GPU's primary one, which is made when the
 * program has not. When that cannot be, CUDA says so at the next call.
 */
void pp_context_enter(struct pp_context *c, uint64_t addr);

void pp_context_leave(struct pp_context *c);

#endif
