/* SPDX-License-Identifier: MIT */
/*
 * runtime: the part of the CUDA runtime API that UCX and libfabric use, with the names and signatures
 * of NVIDIA's cuda_runtime_api.h.
 *
 * NVIDIA's libcudart needs undocumented tables of libcuda (cuGetExportTable()), which the emulated
 * libcuda lacks.
 */
#ifndef RUNTIME_H
#define RUNTIME_H

#include <cuda.h>

/* The value of an error is that of the CUresult with the same meaning. */
typedef enum cudaError {
	cudaSuccess = CUDA_SUCCESS,
	cudaErrorMemoryAllocation = CUDA_ERROR_OUT_OF_MEMORY,
	cudaErrorInvalidSymbol = 13,
} cudaError_t;

enum cudaMemcpyKind {
	cudaMemcpyHostToHost = 0,
	cudaMemcpyHostToDevice = 1,
	cudaMemcpyDeviceToHost = 2,
	cudaMemcpyDeviceToDevice = 3,
	cudaMemcpyDefault = 4,
};

typedef CUstream cudaStream_t;

typedef struct cudaIpcMemHandle_st {
	char reserved[64];
} cudaIpcMemHandle_t;

/* Initializes libcuda, and makes the primary context of the current device current if the thread has no context. */
CUresult runtime_enter(void);

#pragma GCC visibility push(default)

const char *cudaGetErrorName(cudaError_t error);
const char *cudaGetErrorString(cudaError_t error);

cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaGetDevice(int *device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaDeviceSynchronize(void);

cudaError_t cudaMalloc(void **devPtr, size_t size);
cudaError_t cudaMallocManaged(void **devPtr, size_t size, unsigned int flags);
cudaError_t cudaFree(void *devPtr);
cudaError_t cudaMallocHost(void **ptr, size_t size);
cudaError_t cudaHostAlloc(void **pHost, size_t size, unsigned int flags);
cudaError_t cudaFreeHost(void *ptr);
cudaError_t cudaHostRegister(void *ptr, size_t size, unsigned int flags);
cudaError_t cudaHostUnregister(void *ptr);

/* With unified addressing, the addresses determine the direction; @kind is ignored. */
cudaError_t cudaMemcpy(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t cudaMemset(void *devPtr, int value, size_t count);

/* Return an error: the emulated GPU shares no memory with other processes and runs no GPU code. */
cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t *handle, void *devPtr);
cudaError_t cudaIpcOpenMemHandle(void **devPtr, cudaIpcMemHandle_t handle, unsigned int flags);
cudaError_t cudaIpcCloseMemHandle(void *devPtr);
cudaError_t cudaGetSymbolSize(size_t *size, const void *symbol);

#pragma GCC visibility pop

#endif
