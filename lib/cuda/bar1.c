// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <string.h>
#include "lib/sys/cancel.h"
#include "libpeerpin.h"
#include "nvml.h"
#include "lib/sys/sys.h"

/* NVML writes an 8-digit domain and capitals; sysfs has 4 digits and lower case. */
static void format_address(char *out, size_t room, const struct pp_nvml_pci *pci)
{
	unsigned int function = 0;
	const char *dot = strrchr(pci->bus_id, '.');

	if (dot)
		sscanf(dot + 1, "%x", &function);
	snprintf(out, room, "%04x:%02x:%02x.%x", pci->domain, pci->bus,
		 pci->device, function);
}

/* An integrated GPU has neither PCI address nor BAR1. */
static int error_of(int nvml)
{
	if (nvml == PP_NVML_NOT_SUPPORTED)
		return -EOPNOTSUPP;
	return nvml ? -EIO : 0;
}

static int identify(const struct pp_nvml *nvml, void *device,
		    struct pp_bar1 *out)
{
	struct pp_nvml_pci pci = { 0 };
	int ret;

	if (nvml->name(device, out->name, sizeof(out->name)) ||
	    nvml->uuid(device, out->uuid, sizeof(out->uuid)))
		return -EIO;
	ret = error_of(nvml->pci(device, &pci));
	if (ret)
		return ret;
	format_address(out->pci, sizeof(out->pci), &pci);
	return 0;
}

static int measure(const struct pp_nvml *nvml, void *device,
		   struct pp_bar1 *out)
{
	struct pp_nvml_bar1 bar1 = { 0 };
	int ret = error_of(nvml->bar1(device, &bar1));

	if (ret)
		return ret;
	out->total = bar1.total;
	out->used = bar1.used;
	out->free = bar1.free;
	return 0;
}

static int find_device(const struct pp_nvml *nvml, unsigned int index,
		       void **device)
{
	switch (nvml->by_index(index, device)) {
	case PP_NVML_SUCCESS:
		return 0;
	case PP_NVML_INVALID_ARGUMENT:
		return -ENODEV;
	default:
		return -EIO;
	}
}

PP_PUBLIC uint64_t pp_bar1_reserve(void)
{
	PP_KEEP_ERRNO;
	PP_NO_CANCEL;
	FILE *file = fopen("/sys/module/emugpu/parameters/bar1_reserve_mib", "re");
	uint64_t reserve = PP_BAR1_RESERVE;
	unsigned int mib;

	if (!file)
		return reserve;
	if (fscanf(file, "%u", &mib) == 1)
		reserve = (uint64_t)mib << 20;
	fclose(file);
	return reserve;
}

PP_PUBLIC int pp_bar1(unsigned int index, struct pp_bar1 *out)
{
	PP_KEEP_ERRNO;
	PP_NO_CANCEL;
	const struct pp_nvml *nvml;
	void *device;
	int ret;

	if (!out)
		return -EINVAL;
	ret = pp_nvml(&nvml);
	if (ret)
		return ret;
	ret = find_device(nvml, index, &device);
	if (ret)
		return ret;
	memset(out, 0, sizeof(*out));
	ret = identify(nvml, device, out);
	return ret ? ret : measure(nvml, device, out);
}
