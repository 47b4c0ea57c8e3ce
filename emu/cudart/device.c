// SPDX-License-Identifier: MIT
/* The current device of a thread, and its context. */
#include "runtime.h"

#include <stdatomic.h>
#include <stdint.h>

static _Thread_local int current;

/* Bit N: this library has a reference to the primary context of device N. */
static atomic_uint_least64_t retained;

static CUresult use_primary(int device)
{
	CUcontext ctx;
	CUresult err = cuDevicePrimaryCtxRetain(&ctx, device);
	uint_least64_t bit;

	if (err)
		return err;
	bit = 1ull << device;
	if (atomic_fetch_or(&retained, bit) & bit)
		cuDevicePrimaryCtxRelease(device);
	return cuCtxSetCurrent(ctx);
}

CUresult runtime_enter(void)
{
	CUcontext ctx;
	CUresult err = cuInit(0);

	if (!err)
		err = cuCtxGetCurrent(&ctx);
	if (err || ctx)
		return err;
	return use_primary(current);
}

cudaError_t cudaGetDeviceCount(int *count)
{
	CUresult err = cuInit(0);

	return (cudaError_t)(err ? err : cuDeviceGetCount(count));
}

cudaError_t cudaGetDevice(int *device)
{
	CUresult err = runtime_enter();

	return (cudaError_t)(err ? err : cuCtxGetDevice(device));
}

cudaError_t cudaSetDevice(int device)
{
	CUresult err = cuInit(0);

	if (!err)
		err = use_primary(device);
	if (!err)
		current = device;
	return (cudaError_t)err;
}

cudaError_t cudaDeviceSynchronize(void)
{
	CUresult err = runtime_enter();

	return (cudaError_t)(err ? err : cuCtxSynchronize());
}
