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
#include <stdbool.h>

/* space_reserve - once; CUDA_ERROR_OUT_OF_MEMORY: no room below 2^40 */
CUresult space_reserve(void);

/* Sizes are multiples of the block size. 0, or false: none left */
CUdeviceptr space_take(size_t size);
CUdeviceptr space_take_aligned(size_t size, size_t alignment);
bool space_take_at(CUdeviceptr va, size_t size);
void space_give(CUdeviceptr va, size_t size);

/* space_has - whether an address is one of these, given out or not; needs no lock */
bool space_has(CUdeviceptr addr);

/* space_unmap - take away what was mapped there for the CPU; needs no lock */
CUresult space_unmap(CUdeviceptr va, size_t size);

#endif
