// SPDX-License-Identifier: MIT
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include "mock_nvml.h"
#include "lib/cuda/nvml.h"
#include "libpeerpin.h"

bool mock_nvml_loaded;
unsigned int mock_nvml_lost;

static int by_index(unsigned int index, void **device)
{
	pthread_testcancel();	/* NVML may open a file, which is a cancellation point */
	*device = (void *)(uintptr_t)(index + 1);
	if (index < mock_nvml_lost)
		return 15;	/* NVML_ERROR_GPU_IS_LOST */
	return index < MOCK_NVML_GPUS ? PP_NVML_SUCCESS : PP_NVML_INVALID_ARGUMENT;
}

static unsigned int index_of(void *device)
{
	return (unsigned int)(uintptr_t)device - 1;
}

static int text(void *device, char *out, unsigned int length)
{
	snprintf(out, length, "GPU %u", index_of(device));
	return PP_NVML_SUCCESS;
}

static int pci(void *device, struct pp_nvml_pci *out)
{
	out->bus = MOCK_NVML_GPUS - index_of(device);
	out->device = 0x1f;
	snprintf(out->bus_id, sizeof(out->bus_id), "00000000:%02X:1F.0", out->bus);
	return PP_NVML_SUCCESS;
}

static int bar1(void *device, struct pp_nvml_bar1 *out)
{
	out->total = 256ull << 20;
	out->free = ((unsigned long long)index_of(device) << 20) + PP_BAR1_RESERVE;
	out->used = out->total - out->free;
	return PP_NVML_SUCCESS;
}

static const struct pp_nvml functions = {
	.by_index = by_index,
	.name = text,
	.uuid = text,
	.pci = pci,
	.bar1 = bar1,
};

int pp_nvml(const struct pp_nvml **out)
{
	*out = &functions;
	return mock_nvml_loaded ? 0 : -ENOENT;
}
