// SPDX-License-Identifier: MIT
#include <stdint.h>
#include "gpu.h"

CUresult gpu_open(void)
{
	CUcontext ctx;
	CUresult r = cuInit(0);

	if (!r)
		r = cuDevicePrimaryCtxRetain(&ctx, 0);
	return r ? r : cuCtxSetCurrent(ctx);
}

bool gpu_is_integrated(void)
{
	int integrated = 0;

	cuDeviceGetAttribute(&integrated, CU_DEVICE_ATTRIBUTE_INTEGRATED, 0);
	return integrated;
}

CUresult gpu_alloc(CUdeviceptr *out, size_t size)
{
	CUresult r;
	void *p;

	if (!gpu_is_integrated())
		return cuMemAlloc(out, size);
	r = cuMemHostAlloc(&p, size, CU_MEMHOSTALLOC_DEVICEMAP);
	return r ? r : cuMemHostGetDevicePointer(out, p, 0);
}

CUresult gpu_free(CUdeviceptr at)
{
	if (!gpu_is_integrated())
		return cuMemFree(at);
	return cuMemFreeHost((void *)(uintptr_t)at);
}
