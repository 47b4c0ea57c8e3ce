/* SPDX-License-Identifier: MIT */
/*
 * space: the GPU virtual addresses of this process. They are reserved in the
 * CPU's address space without access, as the unified address space of CUDA
 * is: no malloc() can lie there, and a CPU that touches one gets SIGSEGV.
 *
 * All but space_reserve() need the library lock.
 */
#ifndef SPACE_H
#define SPACE_H

#include <cuda.h>

/* space_reserve - once; CUDA_ERROR_OUT_OF_MEMORY: no room below 2^40 */
CUresult space_reserve(void);

/* space_take - @size bytes, a multiple of the block size; 0: none left */
CUdeviceptr space_take(size_t size);
void space_give(CUdeviceptr va, size_t size);

#endif
