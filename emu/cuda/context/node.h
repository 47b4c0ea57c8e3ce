/* SPDX-License-Identifier: MIT */
/*
 * node: this process's client of /dev/emugpu; converts errno to CUDA errors. Call none of these
 * functions with the library lock held: FREE runs free callbacks of other drivers, which may take
 * long, and COPY returns after the copy.
 */
#ifndef NODE_H
#define NODE_H

#include <cuda.h>
#include <emugpu.h>

/* node_open - CUDA_ERROR_NO_DEVICE: no such node, or no permission */
CUresult node_open(void);
void node_close(void);

CUresult node_info(unsigned int gpu, struct emugpu_info *info);

/* node_alloc - CUDA_ERROR_CONTEXT_IS_DESTROYED: @arg->context has ended meanwhile; @arg->memory must exist */
CUresult node_alloc(struct emugpu_alloc *arg);

CUresult node_free(CUdeviceptr va);
CUresult node_memory(unsigned int gpu, size_t size, unsigned int *memory);
CUresult node_context(unsigned int gpu, struct emugpu_context_new *out);
/* node_drop - drop a memory or a context */
CUresult node_drop(unsigned int id);
/* node_map - map an EMUGPU_ALLOC_HOST block for the CPU, at its GPU address */
CUresult node_map(CUdeviceptr va, size_t size);
/* node_export - CUDA_ERROR_INVALID_VALUE: the range is not in one block; NOT_SUPPORTED: an integrated GPU */
CUresult node_export(CUdeviceptr va, size_t size, int *fd);
CUresult node_copy(enum emugpu_copy_kind kind, uint64_t dst, uint64_t src, size_t length);
CUresult node_fill(CUdeviceptr dst, uint32_t pattern, unsigned int elem, size_t length);

#endif
