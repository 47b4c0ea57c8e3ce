// SPDX-License-Identifier: MIT
/* Two-dimensional copies. Arrays are not supported. */
#include "emu/cuda/export.h"
#include "emu/cuda/context/init.h"
#include "stream.h"
#include "transfer.h"
#include "emu/cuda/variant.h"

/**
 * struct end - source or destination of a CUDA_MEMCPY2D
 * @type: whether @host or @device is valid
 * @host: address for CU_MEMORYTYPE_HOST
 * @device: address for all other types
 * @x: bytes to skip in each row
 * @y: rows to skip
 * @pitch: bytes from row to row
 */
struct end {
	CUmemorytype type;
	const void *host;
	CUdeviceptr device;
	size_t x;
	size_t y;
	size_t pitch;
};

static struct end source(const CUDA_MEMCPY2D *c)
{
	return (struct end){ c->srcMemoryType, c->srcHost, c->srcDevice, c->srcXInBytes, c->srcY, c->srcPitch };
}

static struct end destination(const CUDA_MEMCPY2D *c)
{
	return (struct end){ c->dstMemoryType, c->dstHost, c->dstDevice, c->dstXInBytes, c->dstY, c->dstPitch };
}

/* A pitch of 0 means contiguous rows. */
static void set_pitch(struct end *end, const CUDA_MEMCPY2D *c)
{
	if (!end->pitch)
		end->pitch = end->x + c->WidthInBytes;
}

static CUresult check(const struct end *end, const CUDA_MEMCPY2D *c)
{
	const bool several = c->Height > 1 || end->y;

	if (end->type == CU_MEMORYTYPE_ARRAY)
		return CUDA_ERROR_NOT_SUPPORTED;
	if (end->type < CU_MEMORYTYPE_HOST || end->type > CU_MEMORYTYPE_UNIFIED)
		return CUDA_ERROR_INVALID_VALUE;
	if (end->x + c->WidthInBytes < end->x || (several && end->pitch < end->x + c->WidthInBytes))
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

static CUdeviceptr first(const struct end *end)
{
	const CUdeviceptr base = end->type == CU_MEMORYTYPE_HOST ? (uintptr_t)end->host : end->device;

	return base + end->y * end->pitch + end->x;
}

static CUresult copy(CUstream stream, unsigned int flags, const CUDA_MEMCPY2D *c)
{
	struct end src, dst;
	CUresult err = lib_ready();

	if (err)
		return err;
	if (!c)
		return CUDA_ERROR_INVALID_VALUE;
	src = source(c);
	dst = destination(c);
	set_pitch(&src, c);
	set_pitch(&dst, c);
	err = check(&src, c);
	if (!err)
		err = check(&dst, c);
	if (err)
		return err;
	flags |= dst.type == CU_MEMORYTYPE_DEVICE ? TRANSFER_TO_GPU : 0;
	flags |= src.type == CU_MEMORYTYPE_DEVICE ? TRANSFER_FROM_GPU : 0;
	return transfer(stream, flags, &(struct transfer){
		.dst = first(&dst), .dst_pitch = dst.pitch, .src = first(&src), .src_pitch = src.pitch,
		.width = c->WidthInBytes, .rows = c->Height,
	});
}

CUresult cuMemcpy2D(const CUDA_MEMCPY2D *c)
{
	return copy(CU_STREAM_LEGACY, 0, c);
}

CUresult cuMemcpy2DAsync(const CUDA_MEMCPY2D *c, CUstream stream)
{
	return copy(stream, TRANSFER_ASYNC, c);
}

CUresult cuMemcpy2D_v2_ptds(const CUDA_MEMCPY2D *c)
{
	return copy(CU_STREAM_PER_THREAD, 0, c);
}

CUresult cuMemcpy2DAsync_v2_ptsz(const CUDA_MEMCPY2D *c, CUstream stream)
{
	return copy(stream_ptsz(stream), TRANSFER_ASYNC, c);
}

/* cuMemcpy2D() accepts any pitch, so cuMemcpy2DUnaligned() is an alias of it. */
#undef cuMemcpy2D
#undef cuMemcpy2DUnaligned
ALIAS(cuMemcpy2DUnaligned_v2, cuMemcpy2D_v2);
ALIAS(cuMemcpy2DUnaligned_v2_ptds, cuMemcpy2D_v2_ptds);
