/* SPDX-License-Identifier: MIT */
#ifndef MEM_H
#define MEM_H

#include "alloc.h"

/* mem_alloc - allocate in the current context; 0 bytes are CUDA_ERROR_INVALID_VALUE */
CUresult mem_alloc(enum alloc_kind kind, size_t size, unsigned int flags, CUdeviceptr *out);

/*
 * mem_free - free the allocation that starts at @addr, if its kind is in @kinds (1 << kind)
 *
 * Waits for work of its context, for host memory also for all other work; does not
 * wait for memory of a pool.
 */
CUresult mem_free(CUdeviceptr addr, unsigned int kinds);

#endif
