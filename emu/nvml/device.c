// SPDX-License-Identifier: MIT
#include "device.h"

#include "export.h"
#include "init.h"

#include <stdio.h>
#include <strings.h>

/**
 * struct nvmlDevice_st - the target of a handle
 *
 * Only the address of the target matters: its index in devices[] is the number of the GPU.
 */
struct nvmlDevice_st {
	char unused;
};

static struct nvmlDevice_st devices[EMUGPU_GPUS_MAX];

/* Counts the GPUs below number @end. A removed GPU leaves a gap, because other GPUs keep their numbers. */
static unsigned int count(unsigned int end)
{
	struct emugpu_info info;
	unsigned int n = 0;

	for (unsigned int gpu = 0; gpu < end; gpu++)
		n += !node_info(gpu, &info);
	return n;
}

static nvmlDevice_t device_at(unsigned int index)
{
	struct emugpu_info info;

	for (unsigned int gpu = 0; gpu < EMUGPU_GPUS_MAX; gpu++)
		if (!node_info(gpu, &info) && !index--)
			return &devices[gpu];
	return NULL;
}

nvmlReturn_t device_get(nvmlDevice_t device, const void *out, struct emugpu_info *info)
{
	nvmlReturn_t err = lib_ready();

	if (err)
		return err;
	if (!out)
		return NVML_ERROR_INVALID_ARGUMENT;
	for (unsigned int i = 0; i < EMUGPU_GPUS_MAX; i++)
		if (device == &devices[i])
			return node_info(i, info);
	return NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t nvmlDeviceGetCount(unsigned int *out)
{
	nvmlReturn_t err = lib_ready();

	if (err)
		return err;
	if (!out)
		return NVML_ERROR_INVALID_ARGUMENT;
	*out = count(EMUGPU_GPUS_MAX);
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned int index, nvmlDevice_t *device)
{
	nvmlReturn_t err = lib_ready();
	nvmlDevice_t found;

	if (err)
		return err;
	found = device_at(index);
	if (!device || !found)
		return NVML_ERROR_INVALID_ARGUMENT;
	*device = found;
	return NVML_SUCCESS;
}

/* Finds the GPU that @matches accepts, or returns NVML_ERROR_NOT_FOUND. */
static nvmlReturn_t find(const char *text, bool (*matches)(const struct emugpu_info *, const char *),
			 nvmlDevice_t *device)
{
	struct emugpu_info info;
	nvmlReturn_t err = lib_ready();

	if (err)
		return err;
	if (!text || !device)
		return NVML_ERROR_INVALID_ARGUMENT;
	for (unsigned int i = 0; i < EMUGPU_GPUS_MAX; i++) {
		if (node_info(i, &info) || !matches(&info, text))
			continue;
		*device = &devices[i];
		return NVML_SUCCESS;
	}
	return NVML_ERROR_NOT_FOUND;
}

static bool has_uuid(const struct emugpu_info *info, const char *text)
{
	char uuid[DEVICE_UUID_SIZE];

	device_print_uuid(uuid, info);
	return !strcasecmp(uuid, text);
}

nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *device)
{
	return find(uuid, has_uuid, device);
}

struct address {
	unsigned int domain, bus, slot, function;
};

/* Domain and function may be missing in @text. */
static bool parse(struct address *a, const char *text)
{
	*a = (struct address){ 0 };
	if (sscanf(text, "%x:%x:%x.%x", &a->domain, &a->bus, &a->slot, &a->function) >= 3)
		return true;
	*a = (struct address){ 0 };
	return sscanf(text, "%x:%x.%x", &a->bus, &a->slot, &a->function) >= 2;
}

static bool has_address(const struct emugpu_info *info, const char *text)
{
	struct address a;

	return !info->out_integrated && parse(&a, text) && a.domain == info->out_domain && a.bus == info->out_bus &&
	       a.slot == info->out_device && a.function == info->out_function;
}

/* If no GPU has address @id: INVALID_ARGUMENT for a bad address or a function other than 0, as in NVIDIA's library. */
nvmlReturn_t nvmlDeviceGetHandleByPciBusId(const char *id, nvmlDevice_t *device)
{
	nvmlReturn_t err = find(id, has_address, device);
	struct address a;

	if (err != NVML_ERROR_NOT_FOUND)
		return err;
	return parse(&a, id) && !a.function ? err : NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t device, unsigned int *index)
{
	struct emugpu_info info;
	nvmlReturn_t err = device_get(device, index, &info);

	if (!err)
		*index = count(device - devices);
	return err;
}

/* Returns the GPU's number in /dev/emugpu. NVIDIA's library returns the N of /dev/nvidiaN, a file missing here. */
nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t device, unsigned int *minor)
{
	struct emugpu_info info;
	nvmlReturn_t err = device_get(device, minor, &info);

	if (!err)
		*minor = device - devices;
	return err;
}

#undef nvmlDeviceGetCount
#undef nvmlDeviceGetHandleByIndex
#undef nvmlDeviceGetHandleByPciBusId
ALIAS(nvmlDeviceGetCount, nvmlDeviceGetCount_v2);
ALIAS(nvmlDeviceGetHandleByIndex, nvmlDeviceGetHandleByIndex_v2);
ALIAS(nvmlDeviceGetHandleByPciBusId, nvmlDeviceGetHandleByPciBusId_v2);
