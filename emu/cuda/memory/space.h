/* SPDX-License-Identifier: MIT */
/*
 * space: the GPU virtual addresses of this process. They are reserved in the CPU's
 * address space without access, as in CUDA's unified address space: malloc() does not
 * return them, and an access by the CPU is a SIGSEGV.
 *
 * All except space_reserve() need the library lock, unless stated otherwise.
 */
#ifndef SPACE_H
#define SPACE_H

#include <cuda.h>
#include <stdbool.h>

/* space_reserve - call once; CUDA_ERROR_OUT_OF_MEMORY: no room below 2^40 */
CUresult space_reserve(void);

/* Sizes are multiples of the block size. 0, or false: none left */
CUdeviceptr space_take(size_t size);
CUdeviceptr space_take_aligned(size_t size, size_t alignment);
bool space_take_at(CUdeviceptr va, size_t size);
void space_give(CUdeviceptr va, size_t size);

/* space_has - whether an address is in this range, used or not; needs no lock */
bool space_has(CUdeviceptr addr);

/* space_unmap - remove a CPU mapping from the range; needs no lock */
CUresult space_unmap(CUdeviceptr va, size_t size);

#endif
