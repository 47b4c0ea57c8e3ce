// SPDX-License-Identifier: MIT
#include <nvml.h>

const char *nvmlErrorString(nvmlReturn_t result)
{
	switch (result) {
	case NVML_SUCCESS:
		return "no error";
	case NVML_ERROR_UNINITIALIZED:
		return "nvmlInit() was not called in this process";
	case NVML_ERROR_INVALID_ARGUMENT:
		return "an argument is not valid";
	case NVML_ERROR_NOT_SUPPORTED:
		return "the emulated GPU does not support this";
	case NVML_ERROR_NOT_FOUND:
		return "no such GPU";
	case NVML_ERROR_INSUFFICIENT_SIZE:
		return "the buffer is too small";
	case NVML_ERROR_DRIVER_NOT_LOADED:
		return "/dev/emugpu is missing or not accessible; type: modprobe emugpu";
	case NVML_ERROR_FUNCTION_NOT_FOUND:
		return "this version of the structure is not supported";
	case NVML_ERROR_GPU_IS_LOST:
		return "the GPU is gone";
	case NVML_ERROR_UNKNOWN:
		return "the kernel reported an error that NVML has no name for";
	}
	return "unknown error";
}
