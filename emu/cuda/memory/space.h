/* SPDX-License-Identifier: MIT */
/*
 * space: the GPU virtual addresses of this process. The addresses are reserved in the CPU's address
 * space without access, as in CUDA's unified address space. So malloc() does not return these
 * addresses, and an access by the CPU raises SIGSEGV.
 *
 * The functions need the library lock, unless stated otherwise.
 */
#ifndef SPACE_H
#define SPACE_H

#include <cuda.h>
#include <stdbool.h>

/* space_reserve - for cuInit(), needs no library lock; CUDA_ERROR_OUT_OF_MEMORY: no room below 2^40 */
CUresult space_reserve(void);

/* Sizes are multiples of EMUGPU_BLOCK_SIZE. Return 0 or false if no range is left. */
CUdeviceptr space_take(size_t size);
CUdeviceptr space_take_aligned(size_t size, size_t alignment);
bool space_take_at(CUdeviceptr va, size_t size);
void space_give(CUdeviceptr va, size_t size);

/* space_has - whether @addr is a GPU virtual address, in use or not; needs no lock */
bool space_has(CUdeviceptr addr);

/* space_unmap - remove a CPU mapping from a range of these addresses; needs no lock */
CUresult space_unmap(CUdeviceptr va, size_t size);

#endif
