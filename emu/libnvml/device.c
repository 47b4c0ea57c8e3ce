// SPDX-License-Identifier: MIT
#include "init.h"
#include "node.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { MAX_DEVICES = 16 };

/**
 * struct nvmlDevice_st - what a handle points to
 *
 * It needs an address only: its place in the table is the number of the GPU.
 */
struct nvmlDevice_st {
	char unused;
};

static struct nvmlDevice_st devices[MAX_DEVICES];

static unsigned int count(void)
{
	struct emugpu_info info;
	unsigned int n = 0;

	while (n < MAX_DEVICES && !node_info(n, &info))
		n++;
	return n;
}

/* What each function on a device begins with. */
static nvmlReturn_t get(nvmlDevice_t device, const void *out, struct emugpu_info *info)
{
	nvmlReturn_t err = lib_ready();

	if (err)
		return err;
	if (!out)
		return NVML_ERROR_INVALID_ARGUMENT;
	for (unsigned int i = 0; i < MAX_DEVICES; i++)
		if (device == &devices[i])
			return node_info(i, info);
	return NVML_ERROR_INVALID_ARGUMENT;
}

static nvmlReturn_t put_text(char *out, unsigned int length, const char *format, ...)
{
	char text[128];
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (length <= (unsigned int)n)
		return NVML_ERROR_INSUFFICIENT_SIZE;
	memcpy(out, text, n + 1);
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlSystemGetDriverVersion(char *version, unsigned int length)
{
	nvmlReturn_t err = lib_ready();

	if (err)
		return err;
	if (!version)
		return NVML_ERROR_INVALID_ARGUMENT;
	return put_text(version, length, "580.65.06");
}

nvmlReturn_t nvmlDeviceGetCount(unsigned int *out)
{
	nvmlReturn_t err = lib_ready();

	if (err)
		return err;
	if (!out)
		return NVML_ERROR_INVALID_ARGUMENT;
	*out = count();
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned int index, nvmlDevice_t *device)
{
	nvmlReturn_t err = lib_ready();

	if (err)
		return err;
	if (!device || index >= count())
		return NVML_ERROR_INVALID_ARGUMENT;
	*device = &devices[index];
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned int length)
{
	struct emugpu_info info;
	nvmlReturn_t err = get(device, name, &info);

	return err ? err : put_text(name, length, "%.*s", (int)sizeof(info.out_name), info.out_name);
}

nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid, unsigned int length)
{
	struct emugpu_info info;
	nvmlReturn_t err = get(device, uuid, &info);
	const __u8 *u = info.out_uuid;

	if (err)
		return err;
	return put_text(uuid, length, "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", u[0],
			u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13], u[14],
			u[15]);
}

/* A 16-bit id of the device's from sysfs; 0 when it cannot be read. */
static unsigned int sysfs_id(const char *bus_id, const char *name)
{
	char path[128];
	unsigned int id = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/%s", bus_id, name);
	file = fopen(path, "re");
	if (!file)
		return 0;
	if (fscanf(file, "%x", &id) != 1)
		id = 0;
	fclose(file);
	return id;
}

nvmlReturn_t nvmlDeviceGetPciInfo(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
	struct emugpu_info info;
	nvmlReturn_t err = get(device, pci, &info);
	char address[32];

	if (err)
		return err;
	*pci = (nvmlPciInfo_t){ .domain = info.out_domain, .bus = info.out_bus, .device = info.out_device };
	snprintf(address, sizeof(address), "%04x:%02x:%02x.%x", info.out_domain, info.out_bus, info.out_device,
		 info.out_function);
	put_text(pci->busIdLegacy, sizeof(pci->busIdLegacy), "%s", address);
	put_text(pci->busId, sizeof(pci->busId), "%08x%s", info.out_domain, strchr(address, ':'));
	pci->pciDeviceId = sysfs_id(address, "device") << 16 | sysfs_id(address, "vendor");
	pci->pciSubSystemId = sysfs_id(address, "subsystem_device") << 16 | sysfs_id(address, "subsystem_vendor");
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetBAR1MemoryInfo(nvmlDevice_t device, nvmlBAR1Memory_t *bar1)
{
	struct emugpu_info info;
	nvmlReturn_t err = get(device, bar1, &info);

	if (err)
		return err;
	bar1->bar1Total = info.out_bar1_total;
	bar1->bar1Used = info.out_bar1_used;
	bar1->bar1Free = info.out_bar1_total - info.out_bar1_used;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory)
{
	struct emugpu_info info;
	nvmlReturn_t err = get(device, memory, &info);

	if (err)
		return err;
	memory->total = info.out_vram_total;
	memory->free = info.out_vram_free;
	memory->used = info.out_vram_total - info.out_vram_free;
	return NVML_SUCCESS;
}
