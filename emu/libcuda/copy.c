// SPDX-License-Identifier: MIT
#include "alloc.h"
#include "export.h"
#include "node.h"

#include <string.h>

enum side {
	SIDE_HOST,
	SIDE_GPU,
	SIDE_BAD,	/* begins in an allocation and does not end in it */
};

static enum side side_of(CUdeviceptr ptr, size_t length)
{
	struct alloc_info info;

	if (!alloc_find(ptr, &info))
		return SIDE_HOST;
	return length <= info.size - (ptr - info.addr) ? SIDE_GPU : SIDE_BAD;
}

static CUresult move(CUdeviceptr dst, enum side to, CUdeviceptr src, enum side from, size_t length)
{
	if (to == SIDE_GPU)
		return node_copy(from == SIDE_GPU ? EMUGPU_COPY_DTOD : EMUGPU_COPY_HTOD, dst, src, length);
	if (from == SIDE_GPU)
		return node_copy(EMUGPU_COPY_DTOH, dst, src, length);
	memmove((void *)dst, (const void *)src, length);
	return CUDA_SUCCESS;
}

/* With unified addressing the addresses say what to do; a function's name only says which of them must be the GPU's. */
static CUresult copy(CUdeviceptr dst, bool to_gpu, CUdeviceptr src, bool from_gpu, size_t length)
{
	enum side to, from;
	struct CUctx_st *ctx;
	CUresult err = ctx_enter(&ctx);

	if (err || !length)
		return err;
	to = side_of(dst, length);
	from = side_of(src, length);
	if (to == SIDE_BAD || from == SIDE_BAD)
		return CUDA_ERROR_INVALID_VALUE;
	if ((to_gpu && to != SIDE_GPU) || (from_gpu && from != SIDE_GPU))
		return CUDA_ERROR_INVALID_VALUE;
	return move(dst, to, src, from, length);
}

CUresult cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t length)
{
	return copy(dst, false, src, false, length);
}

CUresult cuMemcpyHtoD(CUdeviceptr dst, const void *src, size_t length)
{
	return copy(dst, true, (uintptr_t)src, false, length);
}

CUresult cuMemcpyDtoH(void *dst, CUdeviceptr src, size_t length)
{
	return copy((uintptr_t)dst, false, src, true, length);
}

CUresult cuMemcpyDtoD(CUdeviceptr dst, CUdeviceptr src, size_t length)
{
	return copy(dst, true, src, true, length);
}

static CUresult fill(CUdeviceptr dst, uint32_t pattern, unsigned int elem, size_t count)
{
	struct CUctx_st *ctx;
	CUresult err = ctx_enter(&ctx);

	if (err || !count)
		return err;
	if (dst % elem || count > SIZE_MAX / elem)
		return CUDA_ERROR_INVALID_VALUE;
	if (side_of(dst, count * elem) != SIDE_GPU)
		return CUDA_ERROR_INVALID_VALUE;
	return node_fill(dst, pattern, elem, count * elem);
}

CUresult cuMemsetD8(CUdeviceptr dst, unsigned char value, size_t count)
{
	return fill(dst, value, 1, count);
}

CUresult cuMemsetD16(CUdeviceptr dst, unsigned short value, size_t count)
{
	return fill(dst, value, 2, count);
}

CUresult cuMemsetD32(CUdeviceptr dst, unsigned int value, size_t count)
{
	return fill(dst, value, 4, count);
}

/* What a program calls that was built for a default stream per thread: there are no streams. */
ALIAS(cuMemcpy_ptds, cuMemcpy);
ALIAS(cuMemcpyHtoD_v2_ptds, cuMemcpyHtoD_v2);
ALIAS(cuMemcpyDtoH_v2_ptds, cuMemcpyDtoH_v2);
ALIAS(cuMemcpyDtoD_v2_ptds, cuMemcpyDtoD_v2);
ALIAS(cuMemsetD8_v2_ptds, cuMemsetD8_v2);
ALIAS(cuMemsetD16_v2_ptds, cuMemsetD16_v2);
ALIAS(cuMemsetD32_v2_ptds, cuMemsetD32_v2);
