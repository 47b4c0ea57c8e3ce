/* SPDX-License-Identifier: MIT */
/*
 * node: the calls of /dev/emugpu, with errno converted to CUDA errors. Call none of these functions
 * with the library lock held, because some take long: node_free() runs free callbacks of other
 * drivers, and node_copy() returns after the copy.
 */
#ifndef NODE_H
#define NODE_H

#include <cuda.h>
#include <emugpu.h>

/* node_open - open /dev/emugpu; CUDA_ERROR_NO_DEVICE: no such file, or no permission */
CUresult node_open(void);
void node_close(void);

CUresult node_info(unsigned int gpu, struct emugpu_info *info);

/* node_alloc - @arg->memory must exist; CUDA_ERROR_CONTEXT_IS_DESTROYED: @arg->context has ended meanwhile */
CUresult node_alloc(struct emugpu_alloc *arg);

CUresult node_free(CUdeviceptr va);
CUresult node_memory(unsigned int gpu, size_t size, unsigned int *memory);
CUresult node_context(unsigned int gpu, struct emugpu_context_new *out);
/* node_drop - drop the number of a memory or context */
CUresult node_drop(unsigned int id);
/* node_map - map an EMUGPU_ALLOC_HOST block for the CPU, at its GPU address */
CUresult node_map(CUdeviceptr va, size_t size);
/*
 * node_export - @flags: enum emugpu_export_flags. CUDA_ERROR_INVALID_VALUE: a part of the range has no block;
 * NOT_SUPPORTED: an integrated GPU, or PCIE and the GPU is not coherent
 */
CUresult node_export(CUdeviceptr va, size_t size, unsigned int flags, int *fd);
CUresult node_copy(enum emugpu_copy_kind kind, uint64_t dst, uint64_t src, size_t length);
CUresult node_fill(CUdeviceptr dst, uint32_t pattern, unsigned int elem, size_t length);

#endif
