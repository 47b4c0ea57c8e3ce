// SPDX-License-Identifier: MIT
#include "runtime.h"

static CUdeviceptr address(const void *p)
{
	return (uintptr_t)p;
}

/* An allocation of 0 bytes is NULL. */
cudaError_t cudaMalloc(void **devPtr, size_t size)
{
	CUresult err = runtime_enter();
	CUdeviceptr p = 0;

	if (err)
		return (cudaError_t)err;
	if (!devPtr)
		return (cudaError_t)CUDA_ERROR_INVALID_VALUE;
	if (size)
		err = cuMemAlloc(&p, size);
	*devPtr = (void *)(uintptr_t)p;
	return (cudaError_t)err;
}

cudaError_t cudaMallocManaged(void **devPtr, size_t size, unsigned int flags)
{
	CUresult err = runtime_enter();
	CUdeviceptr p = 0;

	if (err)
		return (cudaError_t)err;
	if (!devPtr)
		return (cudaError_t)CUDA_ERROR_INVALID_VALUE;
	err = cuMemAllocManaged(&p, size, flags);
	*devPtr = (void *)(uintptr_t)p;
	return (cudaError_t)err;
}

cudaError_t cudaFree(void *devPtr)
{
	CUresult err = runtime_enter();

	return (cudaError_t)(err ? err : cuMemFree(address(devPtr)));
}

cudaError_t cudaMallocHost(void **ptr, size_t size)
{
	return cudaHostAlloc(ptr, size, 0);
}

/* The flags of these functions have the values of libcuda's. */
cudaError_t cudaHostAlloc(void **pHost, size_t size, unsigned int flags)
{
	CUresult err = runtime_enter();

	return (cudaError_t)(err ? err : cuMemHostAlloc(pHost, size, flags));
}

cudaError_t cudaFreeHost(void *ptr)
{
	CUresult err = runtime_enter();

	return (cudaError_t)(err ? err : cuMemFreeHost(ptr));
}

cudaError_t cudaHostRegister(void *ptr, size_t size, unsigned int flags)
{
	CUresult err = runtime_enter();

	return (cudaError_t)(err ? err : cuMemHostRegister(ptr, size, flags));
}

cudaError_t cudaHostUnregister(void *ptr)
{
	CUresult err = runtime_enter();

	return (cudaError_t)(err ? err : cuMemHostUnregister(ptr));
}

cudaError_t cudaMemcpy(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind)
{
	CUresult err = runtime_enter();

	(void)kind;
	return (cudaError_t)(err ? err : cuMemcpy(address(dst), address(src), count));
}

cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind, cudaStream_t stream)
{
	CUresult err = runtime_enter();

	(void)kind;
	return (cudaError_t)(err ? err : cuMemcpyAsync(address(dst), address(src), count, stream));
}

cudaError_t cudaMemset(void *devPtr, int value, size_t count)
{
	CUresult err = runtime_enter();

	return (cudaError_t)(err ? err : cuMemsetD8(address(devPtr), (unsigned char)value, count));
}

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t *handle, void *devPtr)
{
	(void)handle, (void)devPtr;
	return (cudaError_t)CUDA_ERROR_NOT_SUPPORTED;
}

cudaError_t cudaIpcOpenMemHandle(void **devPtr, cudaIpcMemHandle_t handle, unsigned int flags)
{
	(void)devPtr, (void)handle, (void)flags;
	return (cudaError_t)CUDA_ERROR_NOT_SUPPORTED;
}

cudaError_t cudaIpcCloseMemHandle(void *devPtr)
{
	(void)devPtr;
	return (cudaError_t)CUDA_ERROR_NOT_SUPPORTED;
}

cudaError_t cudaGetSymbolSize(size_t *size, const void *symbol)
{
	(void)size, (void)symbol;
	return cudaErrorInvalidSymbol;
}
