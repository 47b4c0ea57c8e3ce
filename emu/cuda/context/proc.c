// SPDX-License-Identifier: MIT
#include "absent.h"
#include "init.h"
#include "emu/cuda/variant.h"
#include "emu/version/version.h"

#include <stdbool.h>
#include <string.h>

/* The first variant of this function, without @reason. In cuda.h the name stands for the second variant. */
#undef cuGetProcAddress
__attribute__((visibility("default"))) CUresult cuGetProcAddress(const char *symbol, void **fn, int version,
								 cuuint64_t flags);

/* The first CUDA version with default streams per thread */
enum { PER_THREAD_SINCE = 7000 };

typedef void (*proc_fn)(void);

/**
 * struct proc - one variant of a function
 * @name: name without the suffix of the variant
 * @since: first CUDA version with this variant
 * @per_thread: function for programs built for a default stream per thread; NULL: @fn
 */
struct proc {
	const char *name;
	int since;
	proc_fn fn;
	proc_fn per_thread;
};

#define PROC(name, since) { #name, since, (proc_fn)name, NULL }
#define PROC_V(name, variant, since) { #name, since, (proc_fn)variant, NULL }
#define PROC_V2(name, since) { #name, since, (proc_fn)name##_v2, NULL }
#define PROC_T(name, since, per_thread) { #name, since, (proc_fn)name, (proc_fn)per_thread }
#define PROC_ABSENT(name, suffix, since) { #name, since, (proc_fn)name##suffix, NULL },

/* Variants of one name are in ascending order. Variants with 32-bit addresses (before CUDA 3.2) are absent. */
static const struct proc procs[] = {
	PROC(cuGetErrorName, 6000),
	PROC(cuGetErrorString, 6000),
	PROC(cuInit, 2000),
	PROC(cuDriverGetVersion, 2020),
	PROC(cuGetProcAddress, 11030),
	PROC_V2(cuGetProcAddress, 12000),
	PROC(cuDeviceGet, 2000),
	PROC(cuDeviceGetCount, 2000),
	PROC(cuDeviceGetName, 2000),
	PROC(cuDeviceGetUuid, 9020),
	PROC(cuDeviceTotalMem, 3020),
	PROC(cuDeviceGetAttribute, 2000),
	PROC(cuDeviceGetPCIBusId, 4010),
	PROC(cuDeviceGetByPCIBusId, 4010),
	PROC(cuDeviceComputeCapability, 2000),
	PROC(cuDeviceGetDefaultMemPool, 11020),
	PROC(cuDeviceGetMemPool, 11020),
	PROC(cuDeviceSetMemPool, 11020),
	PROC(cuDevicePrimaryCtxRetain, 7000),
	PROC(cuDevicePrimaryCtxRelease, 7000),
	PROC(cuDevicePrimaryCtxReset, 7000),
	PROC(cuDevicePrimaryCtxGetState, 7000),
	PROC(cuDevicePrimaryCtxSetFlags, 7000),
	PROC(cuCtxSetCurrent, 4000),
	PROC(cuCtxGetCurrent, 4000),
	PROC(cuCtxPushCurrent, 2000),
	PROC(cuCtxPopCurrent, 2000),
	PROC(cuCtxGetDevice, 2000),
	PROC_V2(cuCtxGetDevice, 13000),
	PROC(cuCtxSynchronize, 2000),
	PROC_V2(cuCtxSynchronize, 13000),
	PROC_V2(cuCtxCreate, 2000),
	PROC_V(cuCtxCreate, cuCtxCreate_v3, 11040),
	PROC(cuCtxCreate, 12050),
	PROC(cuCtxDestroy, 2000),
	PROC(cuCtxGetFlags, 7000),
	PROC(cuCtxSetFlags, 12010),
	PROC(cuCtxGetId, 12000),
	PROC(cuCtxGetApiVersion, 3020),
	PROC(cuCtxGetStreamPriorityRange, 5050),
	PROC(cuDeviceCanAccessPeer, 4000),
	PROC(cuCtxEnablePeerAccess, 4000),
	PROC(cuCtxDisablePeerAccess, 4000),
	PROC(cuMemGetInfo, 3020),
	PROC(cuMemAlloc, 3020),
	PROC(cuMemAllocPitch, 3020),
	PROC(cuMemFree, 3020),
	PROC(cuMemGetAddressRange, 3020),
	PROC(cuMemAllocHost, 3020),
	PROC(cuMemHostAlloc, 2020),
	PROC(cuMemFreeHost, 2000),
	PROC(cuMemHostGetDevicePointer, 3020),
	PROC(cuMemHostGetFlags, 2030),
	PROC(cuMemHostRegister, 4000),
	PROC(cuMemHostUnregister, 4000),
	PROC(cuMemAllocManaged, 6000),
	PROC(cuMemRangeGetAttribute, 8000),
	PROC(cuMemRangeGetAttributes, 8000),
	PROC(cuMemGetAllocationGranularity, 10020),
	PROC(cuMemCreate, 10020),
	PROC(cuMemRelease, 10020),
	PROC(cuMemRetainAllocationHandle, 11000),
	PROC(cuMemGetAllocationPropertiesFromHandle, 10020),
	PROC(cuMemAddressReserve, 10020),
	PROC(cuMemAddressFree, 10020),
	PROC(cuMemMap, 10020),
	PROC(cuMemUnmap, 10020),
	PROC(cuMemSetAccess, 10020),
	PROC(cuMemGetAccess, 10020),
	PROC_T(cuMemAllocAsync, 11020, cuMemAllocAsync_ptsz),
	PROC_T(cuMemAllocFromPoolAsync, 11020, cuMemAllocFromPoolAsync_ptsz),
	PROC_T(cuMemFreeAsync, 11020, cuMemFreeAsync_ptsz),
	PROC(cuMemPoolCreate, 11020),
	PROC(cuMemPoolDestroy, 11020),
	PROC(cuMemPoolSetAttribute, 11020),
	PROC(cuMemPoolGetAttribute, 11020),
	PROC(cuMemPoolTrimTo, 11020),
	PROC(cuMemPoolSetAccess, 11020),
	PROC(cuMemPoolGetAccess, 11020),
	PROC(cuMemGetHandleForAddressRange, 11070),
	PROC(cuFlushGPUDirectRDMAWrites, 11030),
	PROC_T(cuMemcpy, 4000, cuMemcpy_ptds),
	PROC_T(cuMemcpyHtoD, 3020, cuMemcpyHtoD_v2_ptds),
	PROC_T(cuMemcpyDtoH, 3020, cuMemcpyDtoH_v2_ptds),
	PROC_T(cuMemcpyDtoD, 3020, cuMemcpyDtoD_v2_ptds),
	PROC_T(cuMemcpyPeer, 4000, cuMemcpyPeer_ptds),
	PROC_T(cuMemcpy2D, 3020, cuMemcpy2D_v2_ptds),
	PROC_T(cuMemcpy2DUnaligned, 3020, cuMemcpy2DUnaligned_v2_ptds),
	PROC_T(cuMemcpyAsync, 4000, cuMemcpyAsync_ptsz),
	PROC_T(cuMemcpyHtoDAsync, 3020, cuMemcpyHtoDAsync_v2_ptsz),
	PROC_T(cuMemcpyDtoHAsync, 3020, cuMemcpyDtoHAsync_v2_ptsz),
	PROC_T(cuMemcpyDtoDAsync, 3020, cuMemcpyDtoDAsync_v2_ptsz),
	PROC_T(cuMemcpyPeerAsync, 4000, cuMemcpyPeerAsync_ptsz),
	PROC_T(cuMemcpy2DAsync, 3020, cuMemcpy2DAsync_v2_ptsz),
	PROC_T(cuMemsetD8, 3020, cuMemsetD8_v2_ptds),
	PROC_T(cuMemsetD16, 3020, cuMemsetD16_v2_ptds),
	PROC_T(cuMemsetD32, 3020, cuMemsetD32_v2_ptds),
	PROC_T(cuMemsetD8Async, 3020, cuMemsetD8Async_ptsz),
	PROC_T(cuMemsetD16Async, 3020, cuMemsetD16Async_ptsz),
	PROC_T(cuMemsetD32Async, 3020, cuMemsetD32Async_ptsz),
	PROC_T(cuMemsetD2D8, 3020, cuMemsetD2D8_v2_ptds),
	PROC_T(cuMemsetD2D8Async, 3020, cuMemsetD2D8Async_ptsz),
	PROC_T(cuMemsetD2D16, 3020, cuMemsetD2D16_v2_ptds),
	PROC_T(cuMemsetD2D16Async, 3020, cuMemsetD2D16Async_ptsz),
	PROC_T(cuMemsetD2D32, 3020, cuMemsetD2D32_v2_ptds),
	PROC_T(cuMemsetD2D32Async, 3020, cuMemsetD2D32Async_ptsz),
	PROC(cuStreamCreate, 2000),
	PROC(cuStreamCreateWithPriority, 5050),
	PROC(cuStreamDestroy, 2000),
	PROC_T(cuStreamSynchronize, 2000, cuStreamSynchronize_ptsz),
	PROC_T(cuStreamQuery, 2000, cuStreamQuery_ptsz),
	PROC_T(cuStreamWaitEvent, 3020, cuStreamWaitEvent_ptsz),
	PROC_T(cuStreamAddCallback, 5000, cuStreamAddCallback_ptsz),
	PROC_T(cuLaunchHostFunc, 10000, cuLaunchHostFunc_ptsz),
	PROC_T(cuStreamGetCtx, 9020, cuStreamGetCtx_ptsz),
	{ "cuStreamGetCtx", 12050, (proc_fn)cuStreamGetCtx_v2, (proc_fn)cuStreamGetCtx_v2_ptsz },
	PROC_T(cuStreamGetFlags, 5050, cuStreamGetFlags_ptsz),
	PROC_T(cuStreamGetId, 12000, cuStreamGetId_ptsz),
	PROC_T(cuStreamGetPriority, 5050, cuStreamGetPriority_ptsz),
	PROC(cuEventCreate, 2000),
	PROC(cuEventDestroy, 2000),
	PROC_T(cuEventRecord, 2000, cuEventRecord_ptsz),
	PROC_T(cuEventRecordWithFlags, 11010, cuEventRecordWithFlags_ptsz),
	PROC(cuEventQuery, 2000),
	PROC(cuEventSynchronize, 2000),
	PROC(cuEventElapsedTime, 2000),
	PROC(cuPointerGetAttribute, 4000),
	PROC(cuPointerGetAttributes, 7000),
	PROC(cuPointerSetAttribute, 6000),
	ABSENT_FUNCTIONS(PROC_ABSENT)
};

static bool is_per_thread(const struct proc *p, cuuint64_t flags)
{
	return p->per_thread && flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
}

static int since(const struct proc *p, bool per_thread)
{
	return per_thread && p->since < PER_THREAD_SINCE ? PER_THREAD_SINCE : p->since;
}

static CUdriverProcAddressQueryResult look_up(const char *symbol, int version, cuuint64_t flags, proc_fn *fn)
{
	CUdriverProcAddressQueryResult result = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;

	for (unsigned int i = 0; i < sizeof(procs) / sizeof(procs[0]); i++) {
		const bool per_thread = is_per_thread(&procs[i], flags);

		if (strcmp(procs[i].name, symbol))
			continue;
		if (since(&procs[i], per_thread) <= version) {
			*fn = per_thread ? procs[i].per_thread : procs[i].fn;
			result = CU_GET_PROC_ADDRESS_SUCCESS;
		} else if (result == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND) {
			result = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
		}
	}
	return result;
}

static bool valid(const char *symbol, void **fn, int version, cuuint64_t flags)
{
	const cuuint64_t known = CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;

	return symbol && fn && version <= driver_version()->cuda && !(flags & ~known);
}

CUresult cuGetProcAddress(const char *symbol, void **fn, int version, cuuint64_t flags)
{
	proc_fn found;

	if (!valid(symbol, fn, version, flags))
		return CUDA_ERROR_INVALID_VALUE;
	if (look_up(symbol, version, flags, &found))
		return CUDA_ERROR_NOT_FOUND;
	*fn = (void *)found;
	return CUDA_SUCCESS;
}

/* If @reason is not NULL, a function that is not found gives CUDA_SUCCESS and *@fn NULL. */
CUresult cuGetProcAddress_v2(const char *symbol, void **fn, int version, cuuint64_t flags,
			     CUdriverProcAddressQueryResult *reason)
{
	CUdriverProcAddressQueryResult result;
	proc_fn found = NULL;

	if (!valid(symbol, fn, version, flags))
		return CUDA_ERROR_INVALID_VALUE;
	result = look_up(symbol, version, flags, &found);
	*fn = (void *)found;
	if (reason)
		*reason = result;
	return result && !reason ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
}
