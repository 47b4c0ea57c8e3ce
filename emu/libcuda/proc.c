// SPDX-License-Identifier: MIT
#include "init.h"

#include <stdbool.h>
#include <string.h>

/* Its first variant has no place for the reason; the header's name stands for the second. */
#undef cuGetProcAddress
__attribute__((visibility("default"))) CUresult cuGetProcAddress(const char *symbol, void **fn, int version,
								 cuuint64_t flags);

typedef void (*proc_fn)(void);

/**
 * struct proc - one variant of a function
 * @name: without the suffix of the variant
 * @since: CUDA version that brought it
 */
struct proc {
	const char *name;
	int since;
	proc_fn fn;
};

#define PROC(name, since) { #name, since, (proc_fn)name }
#define PROC_V2(name, since) { #name, since, (proc_fn)name##_v2 }

/* Variants of one name in ascending order. Those before 3.2 had 32-bit addresses and are absent. */
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
	PROC(cuDevicePrimaryCtxRetain, 7000),
	PROC(cuDevicePrimaryCtxRelease, 7000),
	PROC(cuDevicePrimaryCtxReset, 7000),
	PROC(cuDevicePrimaryCtxGetState, 7000),
	PROC(cuCtxSetCurrent, 4000),
	PROC(cuCtxGetCurrent, 4000),
	PROC(cuCtxPushCurrent, 2000),
	PROC(cuCtxPopCurrent, 2000),
	PROC(cuCtxGetDevice, 2000),
	PROC_V2(cuCtxGetDevice, 13000),
	PROC(cuCtxSynchronize, 2000),
	PROC_V2(cuCtxSynchronize, 13000),
	PROC(cuMemGetInfo, 3020),
	PROC(cuMemAlloc, 3020),
	PROC(cuMemFree, 3020),
	PROC(cuMemGetAddressRange, 3020),
	PROC(cuMemcpy, 4000),
	PROC(cuMemcpyHtoD, 3020),
	PROC(cuMemcpyDtoH, 3020),
	PROC(cuMemcpyDtoD, 3020),
	PROC(cuMemsetD8, 3020),
	PROC(cuMemsetD16, 3020),
	PROC(cuMemsetD32, 3020),
	PROC(cuPointerGetAttribute, 4000),
	PROC(cuPointerGetAttributes, 7000),
	PROC(cuPointerSetAttribute, 6000),
};

static CUdriverProcAddressQueryResult look_up(const char *symbol, int version, proc_fn *fn)
{
	CUdriverProcAddressQueryResult result = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;

	for (unsigned int i = 0; i < sizeof(procs) / sizeof(procs[0]); i++) {
		if (strcmp(procs[i].name, symbol))
			continue;
		if (procs[i].since <= version) {
			*fn = procs[i].fn;
			result = CU_GET_PROC_ADDRESS_SUCCESS;
		} else if (result == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND) {
			result = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
		}
	}
	return result;
}

/* There are no streams: the functions of both kinds of default stream are the same. */
static bool valid(const char *symbol, void **fn, int version, cuuint64_t flags)
{
	const cuuint64_t known = CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;

	return symbol && fn && version <= DRIVER_VERSION && !(flags & ~known);
}

CUresult cuGetProcAddress(const char *symbol, void **fn, int version, cuuint64_t flags)
{
	proc_fn found;

	if (!valid(symbol, fn, version, flags))
		return CUDA_ERROR_INVALID_VALUE;
	if (look_up(symbol, version, &found))
		return CUDA_ERROR_NOT_FOUND;
	*fn = (void *)found;
	return CUDA_SUCCESS;
}

/* Who asks for the reason gets CUDA_SUCCESS and, where there is none, no function. */
CUresult cuGetProcAddress_v2(const char *symbol, void **fn, int version, cuuint64_t flags,
			     CUdriverProcAddressQueryResult *reason)
{
	CUdriverProcAddressQueryResult result;
	proc_fn found = NULL;

	if (!valid(symbol, fn, version, flags))
		return CUDA_ERROR_INVALID_VALUE;
	result = look_up(symbol, version, &found);
	*fn = (void *)found;
	if (reason)
		*reason = result;
	return result && !reason ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
}
