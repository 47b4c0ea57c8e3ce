// SPDX-License-Identifier: MIT
/*
 * One-dimensional copies. Programs built for a default stream per thread call the
 * variants with names that end in _ptds or _ptsz.
 */
#include "stream.h"
#include "transfer.h"
#include "emu/cuda/variant.h"

enum {
	HTOD = TRANSFER_TO_GPU,
	DTOH = TRANSFER_FROM_GPU,
	DTOD = TRANSFER_TO_GPU | TRANSFER_FROM_GPU,
};

static CUdeviceptr host(const void *p)
{
	return (uintptr_t)p;
}

CUresult cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t length)
{
	return transfer_1d(CU_STREAM_LEGACY, 0, dst, src, length);
}

CUresult cuMemcpyHtoD(CUdeviceptr dst, const void *src, size_t length)
{
	return transfer_1d(CU_STREAM_LEGACY, HTOD, dst, host(src), length);
}

CUresult cuMemcpyDtoH(void *dst, CUdeviceptr src, size_t length)
{
	return transfer_1d(CU_STREAM_LEGACY, DTOH, host(dst), src, length);
}

CUresult cuMemcpyDtoD(CUdeviceptr dst, CUdeviceptr src, size_t length)
{
	return transfer_1d(CU_STREAM_LEGACY, DTOD, dst, src, length);
}

CUresult cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t length, CUstream stream)
{
	return transfer_1d(stream, TRANSFER_ASYNC, dst, src, length);
}

CUresult cuMemcpyHtoDAsync(CUdeviceptr dst, const void *src, size_t length, CUstream stream)
{
	return transfer_1d(stream, TRANSFER_ASYNC | HTOD, dst, host(src), length);
}

CUresult cuMemcpyDtoHAsync(void *dst, CUdeviceptr src, size_t length, CUstream stream)
{
	return transfer_1d(stream, TRANSFER_ASYNC | DTOH, host(dst), src, length);
}

CUresult cuMemcpyDtoDAsync(CUdeviceptr dst, CUdeviceptr src, size_t length, CUstream stream)
{
	return transfer_1d(stream, TRANSFER_ASYNC | DTOD, dst, src, length);
}

/* ---- between contexts ------------------------------------------------------------------ */

/* A NULL context stands for the current context, as in NVIDIA's driver. */
static CUresult check_both(CUcontext to, CUcontext from, struct CUctx_st **dst, struct CUctx_st **src)
{
	CUresult err = ctx_resolve(to, dst);

	return err ? err : ctx_resolve(from, src);
}

/* Waits for all queued work of both contexts, then copies. The copy is done on return. */
static CUresult peer_copy(CUstream stream, CUdeviceptr dst, CUcontext to, CUdeviceptr src, CUcontext from,
			  size_t length)
{
	struct CUctx_st *dst_ctx, *src_ctx;
	CUresult err = check_both(to, from, &dst_ctx, &src_ctx);

	if (!err)
		err = engine_wait(&dst_ctx->engine);
	if (!err)
		err = engine_wait(&src_ctx->engine);
	if (!err)
		err = transfer_1d(stream, DTOD, dst, src, length);
	return err ? err : stream_reach(stream);
}

CUresult cuMemcpyPeer(CUdeviceptr dst, CUcontext to, CUdeviceptr src, CUcontext from, size_t length)
{
	return peer_copy(CU_STREAM_LEGACY, dst, to, src, from, length);
}

CUresult cuMemcpyPeerAsync(CUdeviceptr dst, CUcontext to, CUdeviceptr src, CUcontext from, size_t length,
			   CUstream stream)
{
	struct CUctx_st *dst_ctx, *src_ctx;
	CUresult err = check_both(to, from, &dst_ctx, &src_ctx);

	return err ? err : transfer_1d(stream, TRANSFER_ASYNC | DTOD, dst, src, length);
}

/* ---- variants ---------------------------------------------------------------------------- */

CUresult cuMemcpy_ptds(CUdeviceptr dst, CUdeviceptr src, size_t length)
{
	return transfer_1d(CU_STREAM_PER_THREAD, 0, dst, src, length);
}

CUresult cuMemcpyHtoD_v2_ptds(CUdeviceptr dst, const void *src, size_t length)
{
	return transfer_1d(CU_STREAM_PER_THREAD, HTOD, dst, host(src), length);
}

CUresult cuMemcpyDtoH_v2_ptds(void *dst, CUdeviceptr src, size_t length)
{
	return transfer_1d(CU_STREAM_PER_THREAD, DTOH, host(dst), src, length);
}

CUresult cuMemcpyDtoD_v2_ptds(CUdeviceptr dst, CUdeviceptr src, size_t length)
{
	return transfer_1d(CU_STREAM_PER_THREAD, DTOD, dst, src, length);
}

CUresult cuMemcpyPeer_ptds(CUdeviceptr dst, CUcontext to, CUdeviceptr src, CUcontext from, size_t length)
{
	return peer_copy(CU_STREAM_PER_THREAD, dst, to, src, from, length);
}

CUresult cuMemcpyAsync_ptsz(CUdeviceptr dst, CUdeviceptr src, size_t length, CUstream stream)
{
	return cuMemcpyAsync(dst, src, length, stream_ptsz(stream));
}

CUresult cuMemcpyHtoDAsync_v2_ptsz(CUdeviceptr dst, const void *src, size_t length, CUstream stream)
{
	return cuMemcpyHtoDAsync(dst, src, length, stream_ptsz(stream));
}

CUresult cuMemcpyDtoHAsync_v2_ptsz(void *dst, CUdeviceptr src, size_t length, CUstream stream)
{
	return cuMemcpyDtoHAsync(dst, src, length, stream_ptsz(stream));
}

CUresult cuMemcpyDtoDAsync_v2_ptsz(CUdeviceptr dst, CUdeviceptr src, size_t length, CUstream stream)
{
	return cuMemcpyDtoDAsync(dst, src, length, stream_ptsz(stream));
}

CUresult cuMemcpyPeerAsync_ptsz(CUdeviceptr dst, CUcontext to, CUdeviceptr src, CUcontext from, size_t length,
				CUstream stream)
{
	return cuMemcpyPeerAsync(dst, to, src, from, length, stream_ptsz(stream));
}
