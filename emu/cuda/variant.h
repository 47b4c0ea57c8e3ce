/* SPDX-License-Identifier: MIT */
/*
 * variant: exported functions that cuda.h does not declare. Programs built for a default stream
 * per thread call variants with names that end in _ptsz (functions with a stream argument) or _ptds
 * (functions without). The other variants are those of older headers.
 */
#ifndef VARIANT_H
#define VARIANT_H

#include "export.h"

#include <cuda.h>

extern CUresult cuCtxCreate_v2(CUcontext *out, unsigned int flags, CUdevice dev) EXPORTED;
extern CUresult cuCtxCreate_v3(CUcontext *out, CUexecAffinityParam *params, int n, unsigned int flags,
			       CUdevice dev) EXPORTED;

VARIANT(cuStreamSynchronize_ptsz, cuStreamSynchronize);
VARIANT(cuStreamQuery_ptsz, cuStreamQuery);
VARIANT(cuStreamGetCtx_ptsz, cuStreamGetCtx);
VARIANT(cuStreamGetCtx_v2_ptsz, cuStreamGetCtx_v2);
VARIANT(cuStreamGetFlags_ptsz, cuStreamGetFlags);
VARIANT(cuStreamGetPriority_ptsz, cuStreamGetPriority);
VARIANT(cuStreamGetId_ptsz, cuStreamGetId);

VARIANT(cuEventRecord_ptsz, cuEventRecord);
VARIANT(cuEventRecordWithFlags_ptsz, cuEventRecordWithFlags);
VARIANT(cuStreamWaitEvent_ptsz, cuStreamWaitEvent);

VARIANT(cuStreamAddCallback_ptsz, cuStreamAddCallback);
VARIANT(cuLaunchHostFunc_ptsz, cuLaunchHostFunc);

VARIANT(cuMemcpy_ptds, cuMemcpy);
VARIANT(cuMemcpyHtoD_v2_ptds, cuMemcpyHtoD);
VARIANT(cuMemcpyDtoH_v2_ptds, cuMemcpyDtoH);
VARIANT(cuMemcpyDtoD_v2_ptds, cuMemcpyDtoD);
VARIANT(cuMemcpyPeer_ptds, cuMemcpyPeer);
VARIANT(cuMemcpyAsync_ptsz, cuMemcpyAsync);
VARIANT(cuMemcpyHtoDAsync_v2_ptsz, cuMemcpyHtoDAsync);
VARIANT(cuMemcpyDtoHAsync_v2_ptsz, cuMemcpyDtoHAsync);
VARIANT(cuMemcpyDtoDAsync_v2_ptsz, cuMemcpyDtoDAsync);
VARIANT(cuMemcpyPeerAsync_ptsz, cuMemcpyPeerAsync);

VARIANT(cuMemsetD8_v2_ptds, cuMemsetD8);
VARIANT(cuMemsetD8Async_ptsz, cuMemsetD8Async);
VARIANT(cuMemsetD16_v2_ptds, cuMemsetD16);
VARIANT(cuMemsetD16Async_ptsz, cuMemsetD16Async);
VARIANT(cuMemsetD32_v2_ptds, cuMemsetD32);
VARIANT(cuMemsetD32Async_ptsz, cuMemsetD32Async);
VARIANT(cuMemsetD2D8_v2_ptds, cuMemsetD2D8);
VARIANT(cuMemsetD2D8Async_ptsz, cuMemsetD2D8Async);
VARIANT(cuMemsetD2D16_v2_ptds, cuMemsetD2D16);
VARIANT(cuMemsetD2D16Async_ptsz, cuMemsetD2D16Async);
VARIANT(cuMemsetD2D32_v2_ptds, cuMemsetD2D32);
VARIANT(cuMemsetD2D32Async_ptsz, cuMemsetD2D32Async);

VARIANT(cuMemcpy2D_v2_ptds, cuMemcpy2D);
VARIANT(cuMemcpy2DUnaligned_v2_ptds, cuMemcpy2DUnaligned);
VARIANT(cuMemcpy2DAsync_v2_ptsz, cuMemcpy2DAsync);

VARIANT(cuMemAllocAsync_ptsz, cuMemAllocAsync);
VARIANT(cuMemAllocFromPoolAsync_ptsz, cuMemAllocFromPoolAsync);
VARIANT(cuMemFreeAsync_ptsz, cuMemFreeAsync);

#endif
