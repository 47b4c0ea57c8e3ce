/* SPDX-License-Identifier: MIT */
/* The first GPU, and memory of it that a peer device can reach */
#ifndef GPU_H
#define GPU_H

#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>

CUresult gpu_open(void);

/* After gpu_open(): is the GPU integrated (Tegra), so that its memory is host memory? */
bool gpu_is_integrated(void);

/* cuMemAlloc(). For an integrated GPU cuMemHostAlloc(), because peers reach no other CUDA memory there */
CUresult gpu_alloc(CUdeviceptr *out, size_t size);
CUresult gpu_free(CUdeviceptr at);

#endif
