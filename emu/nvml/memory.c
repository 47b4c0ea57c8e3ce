// SPDX-License-Identifier: MIT
/* memory: sizes of GPU memory and BAR1. */
#include "device.h"

nvmlReturn_t nvmlDeviceGetBAR1MemoryInfo(nvmlDevice_t device, nvmlBAR1Memory_t *bar1)
{
	struct emugpu_info info;
	nvmlReturn_t err = device_get(device, bar1, &info);

	if (err)
		return err;
	if (info.out_integrated)
		return NVML_ERROR_NOT_SUPPORTED;
	bar1->bar1Total = info.out_bar1_total;
	bar1->bar1Used = info.out_bar1_used;
	bar1->bar1Free = info.out_bar1_total - info.out_bar1_used;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory)
{
	struct emugpu_info info;
	nvmlReturn_t err = device_get(device, memory, &info);

	if (err)
		return err;
	memory->total = info.out_vram_total;
	memory->free = info.out_vram_free;
	memory->used = info.out_vram_total - info.out_vram_free;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t *memory)
{
	struct emugpu_info info;
	nvmlReturn_t err = device_get(device, memory, &info);

	if (err)
		return err;
	/* NVIDIA's library selects a function by the version, and reports an unknown version as a missing function */
	if (memory->version != nvmlMemory_v2)
		return NVML_ERROR_FUNCTION_NOT_FOUND;
	memory->total = info.out_vram_total;
	memory->reserved = 0;
	memory->free = info.out_vram_free;
	memory->used = info.out_vram_total - info.out_vram_free;
	return NVML_SUCCESS;
}
