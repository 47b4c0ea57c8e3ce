/* SPDX-License-Identifier: MIT */
#ifndef MEM_H
#define MEM_H

#include "alloc.h"

/* mem_alloc - for the current context; 0 bytes are CUDA_ERROR_INVALID_VALUE */
CUresult mem_alloc(enum alloc_kind kind, size_t size, unsigned int flags, CUdeviceptr *out);

/*
 * mem_free - what begins at @addr and is of one of @kinds (1 << kind)
 *
 * Waits for work: that of its context, all if the memory is the CPU's, none if
 * it is a pool's.
 */
CUresult mem_free(CUdeviceptr addr, unsigned int kinds);

#endif
