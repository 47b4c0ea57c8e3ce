/* SPDX-License-Identifier: MIT */
/* The first GPU by CUDA, and memory of it that a peer device can be given. */
#ifndef GPU_H
#define GPU_H

#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>

CUresult gpu_open(void);

/* After gpu_open(): a part of the processor (Tegra), with the CPU's memory for its own? */
bool gpu_is_integrated(void);

/* cuMemAlloc(); of an integrated GPU peers reach what cuMemHostAlloc() gives, and nothing else. */
CUresult gpu_alloc(CUdeviceptr *out, size_t size);
CUresult gpu_free(CUdeviceptr at);

#endif
