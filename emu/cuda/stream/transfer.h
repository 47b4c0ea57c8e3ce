/* SPDX-License-Identifier: MIT */
/* transfer: bytes that move or are set, in rows, and when they do. */
#ifndef TRANSFER_H
#define TRANSFER_H

#include <cuda.h>

enum transfer_flags {
	TRANSFER_ASYNC = 1 << 0,	/* the function's name says so: it never waits for GPU memory */
	TRANSFER_TO_GPU = 1 << 1,	/* it says that @dst is the GPU's */
	TRANSFER_FROM_GPU = 1 << 2,	/* and @src */
};

/**
 * struct transfer - what to do
 * @dst: address, the GPU's or not
 * @src: likewise, or the pattern if @elem
 * @width: bytes of a row
 * @rows: 1 where all is in one piece
 * @dst_pitch: bytes from row to row
 * @src_pitch: likewise
 * @elem: 1, 2 or 4: the bytes of the pattern to fill with; 0: it is a copy
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
 * transfer - do it in order of @stream
 *
 * Copies and fills of GPU memory alone return before they are done. Those that
 * are not ASYNC do so unless SYNC_MEMOPS is set for the memory or the context.
 * Of the others, those of page-locked memory that are ASYNC return before, and
 * those from any memory to the GPU once its bytes are read.
 */
CUresult transfer(CUstream stream, unsigned int flags, const struct transfer *t);

/* transfer_1d - a copy in one piece */
CUresult transfer_1d(CUstream stream, unsigned int flags, CUdeviceptr dst, CUdeviceptr src, size_t length);

#endif
