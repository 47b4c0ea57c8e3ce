/* SPDX-License-Identifier: MIT */
/*
 * node: this process's client of /dev/emugpu, and its errors as CUDA's. None
 * of these may be called with the library lock: FREE runs other drivers' free
 * callbacks, which may last, and COPY lasts as long as the copy.
 */
#ifndef NODE_H
#define NODE_H

#include <cuda.h>
#include <emugpu.h>

/* node_open - CUDA_ERROR_NO_DEVICE: no such node, or no right to it */
CUresult node_open(void);
void node_close(void);

CUresult node_info(unsigned int gpu, struct emugpu_info *info);
CUresult node_alloc(unsigned int gpu, CUdeviceptr va, size_t size);
CUresult node_free(CUdeviceptr va);
CUresult node_copy(enum emugpu_copy_kind kind, uint64_t dst, uint64_t src, size_t length);
CUresult node_fill(CUdeviceptr dst, uint32_t pattern, unsigned int elem, size_t length);

#endif
