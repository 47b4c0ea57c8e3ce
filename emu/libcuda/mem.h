/* SPDX-License-Identifier: MIT */
#ifndef MEM_H
#define MEM_H

#include "alloc.h"

/* mem_alloc - for the current context; 0 bytes are CUDA_ERROR_INVALID_VALUE */
CUresult mem_alloc(enum alloc_kind kind, size_t size, unsigned int flags, CUdeviceptr *out);

/* mem_free - what begins at @addr and is of one of @kinds (1 << kind), when the work that may use it is done */
CUresult mem_free(CUdeviceptr addr, unsigned int kinds);

/*
 * mem_wait - for all work, since any context may be using memory; fails if that of @ctx did. NULL: memory of no
 * context, so that of the thread's
 */
CUresult mem_wait(struct CUctx_st *ctx);

#endif
