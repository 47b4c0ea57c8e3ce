/* SPDX-License-Identifier: MIT */
#ifndef MEM_H
#define MEM_H

#include "alloc.h"

/* mem_alloc - allocate in the current context; CUDA_ERROR_INVALID_VALUE if @size is 0 */
CUresult mem_alloc(enum alloc_kind kind, size_t size, unsigned int flags, CUdeviceptr *out);

/*
 * mem_free - free the allocation that starts at @addr, if its kind is in @kinds (1 << kind)
 *
 * Waits for work of the allocation's context. For host memory, waits for the work of all contexts.
 * For memory of a pool, does not wait.
 */
CUresult mem_free(CUdeviceptr addr, unsigned int kinds);

#endif
