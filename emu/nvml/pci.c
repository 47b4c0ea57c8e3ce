// SPDX-License-Identifier: MIT
/* pci: the PCI address of a GPU. */
#include "device.h"
#include "text.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Reads a 16-bit id of the device from sysfs; 0 if it cannot be read. */
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
	nvmlReturn_t err = device_get(device, pci, &info);
	char address[32];

	if (err)
		return err;
	if (info.out_integrated)
		return NVML_ERROR_NOT_SUPPORTED;
	*pci = (nvmlPciInfo_t){ .domain = info.out_domain, .bus = info.out_bus, .device = info.out_device };
	snprintf(address, sizeof(address), "%04x:%02x:%02x.%x", info.out_domain, info.out_bus, info.out_device,
		 info.out_function);
	/* in upper case, unlike the name in sysfs */
	text_put(pci->busIdLegacy, sizeof(pci->busIdLegacy), "%04X:%02X:%02X.%X", info.out_domain, info.out_bus,
		 info.out_device, info.out_function);
	text_put(pci->busId, sizeof(pci->busId), "%08X%s", info.out_domain, strchr(pci->busIdLegacy, ':'));
	pci->pciDeviceId = sysfs_id(address, "device") << 16 | sysfs_id(address, "vendor");
	pci->pciSubSystemId = sysfs_id(address, "subsystem_device") << 16 | sysfs_id(address, "subsystem_vendor");
	return NVML_SUCCESS;
}

/* In the _v2 variant, nvmlPciInfo_t ends before busId. */
nvmlReturn_t nvmlDeviceGetPciInfo_v2(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
	nvmlPciInfo_t info;
	nvmlReturn_t err = nvmlDeviceGetPciInfo(device, pci ? &info : NULL);

	if (!err)
		memcpy(pci, &info, offsetof(nvmlPciInfo_t, busId));
	return err;
}
