/* SPDX-License-Identifier: MIT */
/* transfer: copies and fills, in rows, now or queued in a stream. */
#ifndef TRANSFER_H
#define TRANSFER_H

#include <cuda.h>

enum transfer_flags {
	TRANSFER_ASYNC = 1 << 0,	/* function with Async in its name: never waits for a transfer to GPU memory */
	TRANSFER_TO_GPU = 1 << 1,	/* @dst must be GPU memory; host memory known to CUDA is also accepted */
	TRANSFER_FROM_GPU = 1 << 2,	/* @src must be GPU memory; host memory known to CUDA is also accepted */
};

/**
 * struct transfer - a copy or fill
 * @dst: address of GPU or host memory
 * @src: address of GPU or host memory; for a fill: the pattern
 * @width: bytes of a row
 * @rows: number of rows; 1 for contiguous memory
 * @dst_pitch: bytes from row to row of @dst
 * @src_pitch: bytes from row to row of @src
 * @elem: for a fill: bytes of the pattern, 1, 2 or 4; for a copy: 0
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
 * transfer - execute @t in the order of @stream
 *
 * The call returns before the transfer is done in these cases:
 *	- without TRANSFER_ASYNC: both sides are GPU memory, without SYNC_MEMOPS of memory or context
 *	- with TRANSFER_ASYNC: each side is GPU memory or page-locked host memory
 *	- with TRANSFER_ASYNC: from other host memory to the GPU; the call has read the source
 */
CUresult transfer(CUstream stream, unsigned int flags, const struct transfer *t);

/* transfer_1d - a copy of contiguous memory */
CUresult transfer_1d(CUstream stream, unsigned int flags, CUdeviceptr dst, CUdeviceptr src, size_t length);

#endif
