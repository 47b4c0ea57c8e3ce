// SPDX-License-Identifier: MIT
/*
 * The memset functions. Programs built for a default stream per thread call the
 * variants with names that end in _ptds or _ptsz.
 */
#include "emu/cuda/context/init.h"
#include "stream.h"
#include "transfer.h"
#include "emu/cuda/variant.h"

static CUresult fill_2d(CUstream stream, unsigned int flags, CUdeviceptr dst, size_t pitch, uint32_t pattern,
			unsigned int elem, size_t width, size_t height)
{
	const struct transfer t = {
		.dst = dst, .dst_pitch = pitch, .src = pattern, .width = width * elem, .rows = height, .elem = elem,
	};
	const bool valid = width <= SIZE_MAX / elem && (height <= 1 || pitch >= width * elem);
	CUresult err = lib_ready();

	if (err)
		return err;
	return valid ? transfer(stream, flags, &t) : CUDA_ERROR_INVALID_VALUE;
}

static CUresult fill(CUstream stream, unsigned int flags, CUdeviceptr dst, uint32_t pattern, unsigned int elem,
		     size_t count)
{
	return fill_2d(stream, flags, dst, 0, pattern, elem, count, 1);
}

CUresult cuMemsetD8(CUdeviceptr dst, unsigned char value, size_t count)
{
	return fill(CU_STREAM_LEGACY, 0, dst, value, 1, count);
}

CUresult cuMemsetD8Async(CUdeviceptr dst, unsigned char value, size_t count, CUstream stream)
{
	return fill(stream, TRANSFER_ASYNC, dst, value, 1, count);
}

CUresult cuMemsetD16(CUdeviceptr dst, unsigned short value, size_t count)
{
	return fill(CU_STREAM_LEGACY, 0, dst, value, 2, count);
}

CUresult cuMemsetD16Async(CUdeviceptr dst, unsigned short value, size_t count, CUstream stream)
{
	return fill(stream, TRANSFER_ASYNC, dst, value, 2, count);
}

CUresult cuMemsetD32(CUdeviceptr dst, unsigned int value, size_t count)
{
	return fill(CU_STREAM_LEGACY, 0, dst, value, 4, count);
}

CUresult cuMemsetD32Async(CUdeviceptr dst, unsigned int value, size_t count, CUstream stream)
{
	return fill(stream, TRANSFER_ASYNC, dst, value, 4, count);
}

CUresult cuMemsetD2D8(CUdeviceptr dst, size_t pitch, unsigned char value, size_t width, size_t height)
{
	return fill_2d(CU_STREAM_LEGACY, 0, dst, pitch, value, 1, width, height);
}

CUresult cuMemsetD2D8Async(CUdeviceptr dst, size_t pitch, unsigned char value, size_t width, size_t height,
			   CUstream stream)
{
	return fill_2d(stream, TRANSFER_ASYNC, dst, pitch, value, 1, width, height);
}

CUresult cuMemsetD2D16(CUdeviceptr dst, size_t pitch, unsigned short value, size_t width, size_t height)
{
	return fill_2d(CU_STREAM_LEGACY, 0, dst, pitch, value, 2, width, height);
}

CUresult cuMemsetD2D16Async(CUdeviceptr dst, size_t pitch, unsigned short value, size_t width, size_t height,
			    CUstream stream)
{
	return fill_2d(stream, TRANSFER_ASYNC, dst, pitch, value, 2, width, height);
}

CUresult cuMemsetD2D32(CUdeviceptr dst, size_t pitch, unsigned int value, size_t width, size_t height)
{
	return fill_2d(CU_STREAM_LEGACY, 0, dst, pitch, value, 4, width, height);
}

CUresult cuMemsetD2D32Async(CUdeviceptr dst, size_t pitch, unsigned int value, size_t width, size_t height,
			    CUstream stream)
{
	return fill_2d(stream, TRANSFER_ASYNC, dst, pitch, value, 4, width, height);
}

/* ---- variants ---------------------------------------------------------------------------- */

CUresult cuMemsetD8_v2_ptds(CUdeviceptr dst, unsigned char value, size_t count)
{
	return fill(CU_STREAM_PER_THREAD, 0, dst, value, 1, count);
}

CUresult cuMemsetD8Async_ptsz(CUdeviceptr dst, unsigned char value, size_t count, CUstream stream)
{
	return fill(stream_ptsz(stream), TRANSFER_ASYNC, dst, value, 1, count);
}

CUresult cuMemsetD16_v2_ptds(CUdeviceptr dst, unsigned short value, size_t count)
{
	return fill(CU_STREAM_PER_THREAD, 0, dst, value, 2, count);
}

CUresult cuMemsetD16Async_ptsz(CUdeviceptr dst, unsigned short value, size_t count, CUstream stream)
{
	return fill(stream_ptsz(stream), TRANSFER_ASYNC, dst, value, 2, count);
}

CUresult cuMemsetD32_v2_ptds(CUdeviceptr dst, unsigned int value, size_t count)
{
	return fill(CU_STREAM_PER_THREAD, 0, dst, value, 4, count);
}

CUresult cuMemsetD32Async_ptsz(CUdeviceptr dst, unsigned int value, size_t count, CUstream stream)
{
	return fill(stream_ptsz(stream), TRANSFER_ASYNC, dst, value, 4, count);
}

CUresult cuMemsetD2D8_v2_ptds(CUdeviceptr dst, size_t pitch, unsigned char value, size_t width, size_t height)
{
	return fill_2d(CU_STREAM_PER_THREAD, 0, dst, pitch, value, 1, width, height);
}

CUresult cuMemsetD2D8Async_ptsz(CUdeviceptr dst, size_t pitch, unsigned char value, size_t width, size_t height,
				CUstream stream)
{
	return fill_2d(stream_ptsz(stream), TRANSFER_ASYNC, dst, pitch, value, 1, width, height);
}

CUresult cuMemsetD2D16_v2_ptds(CUdeviceptr dst, size_t pitch, unsigned short value, size_t width, size_t height)
{
	return fill_2d(CU_STREAM_PER_THREAD, 0, dst, pitch, value, 2, width, height);
}

CUresult cuMemsetD2D16Async_ptsz(CUdeviceptr dst, size_t pitch, unsigned short value, size_t width, size_t height,
				 CUstream stream)
{
	return fill_2d(stream_ptsz(stream), TRANSFER_ASYNC, dst, pitch, value, 2, width, height);
}

CUresult cuMemsetD2D32_v2_ptds(CUdeviceptr dst, size_t pitch, unsigned int value, size_t width, size_t height)
{
	return fill_2d(CU_STREAM_PER_THREAD, 0, dst, pitch, value, 4, width, height);
}

CUresult cuMemsetD2D32Async_ptsz(CUdeviceptr dst, size_t pitch, unsigned int value, size_t width, size_t height,
				 CUstream stream)
{
	return fill_2d(stream_ptsz(stream), TRANSFER_ASYNC, dst, pitch, value, 4, width, height);
}
