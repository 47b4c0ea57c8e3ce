// SPDX-License-Identifier: MIT
#include <cuda.h>

struct error {
	CUresult code;
	const char *name;
	const char *text;
};

#define ERROR(code, text) { code, #code, text }

/* All errors that this library can return. */
static const struct error errors[] = {
	ERROR(CUDA_SUCCESS, "no error"),
	ERROR(CUDA_ERROR_INVALID_VALUE, "an argument is not valid"),
	ERROR(CUDA_ERROR_OUT_OF_MEMORY, "not enough memory"),
	ERROR(CUDA_ERROR_NOT_INITIALIZED, "cuInit() was not called in this process"),
	ERROR(CUDA_ERROR_DEVICE_UNAVAILABLE, "the GPU is gone"),
	ERROR(CUDA_ERROR_NO_DEVICE, "no GPU: /dev/emugpu is missing or not accessible, or has no GPU"),
	ERROR(CUDA_ERROR_INVALID_DEVICE, "no GPU of that number"),
	ERROR(CUDA_ERROR_INVALID_CONTEXT, "no context, or not a context"),
	ERROR(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, "the two contexts cannot reach each other's memory"),
	ERROR(CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY, "a context cannot have a part of the emulated GPU"),
	ERROR(CUDA_ERROR_INVALID_HANDLE, "not a stream, or not an event"),
	ERROR(CUDA_ERROR_NOT_FOUND, "no such function or allocation"),
	ERROR(CUDA_ERROR_NOT_READY, "work is not finished, or the GPU's memory is not accessible now"),
	ERROR(CUDA_ERROR_ILLEGAL_ADDRESS, "asynchronous work used memory that was freed"),
	ERROR(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, "peer access is enabled already"),
	ERROR(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, "peer access is not enabled"),
	ERROR(CUDA_ERROR_CONTEXT_IS_DESTROYED, "the context was destroyed"),
	ERROR(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, "the memory is page-locked already"),
	ERROR(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, "the memory was not registered"),
	ERROR(CUDA_ERROR_LAUNCH_FAILED, "asynchronous work failed"),
	ERROR(CUDA_ERROR_NOT_PERMITTED, "not allowed in a function that a stream calls"),
	ERROR(CUDA_ERROR_NOT_SUPPORTED, "the emulated GPU does not support this"),
	ERROR(CUDA_ERROR_UNKNOWN, "the kernel reported an error that CUDA has no name for"),
};

static const struct error *find(CUresult code)
{
	for (unsigned int i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (errors[i].code == code)
			return &errors[i];
	return NULL;
}

CUresult cuGetErrorName(CUresult code, const char **out)
{
	const struct error *e = find(code);

	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	*out = e ? e->name : NULL;
	return e ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult code, const char **out)
{
	const struct error *e = find(code);

	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	*out = e ? e->text : NULL;
	return e ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
