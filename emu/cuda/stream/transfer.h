/* SPDX-License-Identifier: MIT */
/* transfer: copies and fills, in rows, now or queued in a stream. */
#ifndef TRANSFER_H
#define TRANSFER_H

#include <cuda.h>

enum transfer_flags {
	TRANSFER_ASYNC = 1 << 0,	/* a function with Async in its name: never waits for GPU memory */
	TRANSFER_TO_GPU = 1 << 1,	/* its name requires GPU memory (or known host memory) as @dst */
	TRANSFER_FROM_GPU = 1 << 2,	/* the same for @src */
};

/**
 * struct transfer - a copy or fill
 * @dst: address of GPU or host memory
 * @src: the same, or the pattern if @elem is not 0
 * @width: bytes of a row
 * @rows: number of rows; 1 for contiguous memory
 * @dst_pitch: distance of rows in bytes
 * @src_pitch: the same
 * @elem: 1, 2 or 4: bytes of the pattern of a fill; 0: a copy
 */
struct transfer {
	CUdeviceptr dst;
	CUdeviceptr src;
	size_t width;
	size_t rows;
	size_t dst_pitch;
	size_t src_pitch;
	unsigned int elem;
};

/*
 * transfer - execute it in the order of @stream
 *
 * Copies and fills within GPU memory return before they are done; without ASYNC only
 * if SYNC_MEMOPS is not set for the memory or the context. ASYNC copies of page-locked
 * memory return before they are done. ASYNC copies of other memory to the GPU return
 * after the source was read.
 */
CUresult transfer(CUstream stream, unsigned int flags, const struct transfer *t);

/* transfer_1d - a copy of contiguous memory */
CUresult transfer_1d(CUstream stream, unsigned int flags, CUdeviceptr dst, CUdeviceptr src, size_t length);

#endif
