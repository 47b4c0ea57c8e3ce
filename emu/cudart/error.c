// SPDX-License-Identifier: MIT
#include "runtime.h"

/* The errors of libcuda that a program meets; the others have the name of an unknown error. */
static const struct {
	int code;
	const char *name;
} names[] = {
	{ CUDA_SUCCESS, "cudaSuccess" },
	{ CUDA_ERROR_INVALID_VALUE, "cudaErrorInvalidValue" },
	{ cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation" },
	{ cudaErrorInvalidSymbol, "cudaErrorInvalidSymbol" },
	{ CUDA_ERROR_NOT_INITIALIZED, "cudaErrorInitializationError" },
	{ CUDA_ERROR_DEVICE_UNAVAILABLE, "cudaErrorDevicesUnavailable" },
	{ CUDA_ERROR_NO_DEVICE, "cudaErrorNoDevice" },
	{ CUDA_ERROR_INVALID_DEVICE, "cudaErrorInvalidDevice" },
	{ CUDA_ERROR_INVALID_CONTEXT, "cudaErrorDeviceUninitialized" },
	{ CUDA_ERROR_INVALID_HANDLE, "cudaErrorInvalidResourceHandle" },
	{ CUDA_ERROR_NOT_READY, "cudaErrorNotReady" },
	{ CUDA_ERROR_ILLEGAL_ADDRESS, "cudaErrorIllegalAddress" },
	{ CUDA_ERROR_CONTEXT_IS_DESTROYED, "cudaErrorContextIsDestroyed" },
	{ CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, "cudaErrorHostMemoryAlreadyRegistered" },
	{ CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, "cudaErrorHostMemoryNotRegistered" },
	{ CUDA_ERROR_LAUNCH_FAILED, "cudaErrorLaunchFailure" },
	{ CUDA_ERROR_NOT_PERMITTED, "cudaErrorNotPermitted" },
	{ CUDA_ERROR_NOT_SUPPORTED, "cudaErrorNotSupported" },
	{ CUDA_ERROR_UNKNOWN, "cudaErrorUnknown" },
};

const char *cudaGetErrorName(cudaError_t error)
{
	for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].code == (int)error)
			return names[i].name;
	return "unrecognized error code";
}

const char *cudaGetErrorString(cudaError_t error)
{
	const char *text;

	if (error == cudaErrorInvalidSymbol)
		return "the emulated GPU runs no code, so it has no symbols";
	return cuGetErrorString((CUresult)error, &text) ? "unrecognized error code" : text;
}
