// SPDX-License-Identifier: MIT
/* identity: name, UUID, brand and architecture of a GPU. */
#include "device.h"
#include "emu/version/version.h"
#include "init.h"
#include "text.h"

#include <stdio.h>

static nvmlReturn_t check(const void *out)
{
	nvmlReturn_t err = lib_ready();

	if (err)
		return err;
	return out ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t nvmlSystemGetDriverVersion(char *version, unsigned int length)
{
	nvmlReturn_t err = check(version);

	return err ? err : text_put(version, length, "%s", driver_version()->text);
}

nvmlReturn_t nvmlSystemGetNVMLVersion(char *version, unsigned int length)
{
	nvmlReturn_t err = check(version);

	return err ? err : text_put(version, length, "%d.%s", driver_version()->cuda / 1000,
					  driver_version()->text);
}

/* This function and its _v2 variant need no nvmlInit(), as in NVIDIA's library. */
nvmlReturn_t nvmlSystemGetCudaDriverVersion(int *version)
{
	if (!version)
		return NVML_ERROR_INVALID_ARGUMENT;
	*version = driver_version()->cuda;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int *version)
{
	return nvmlSystemGetCudaDriverVersion(version);
}

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned int length)
{
	struct emugpu_info info;
	nvmlReturn_t err = device_get(device, name, &info);

	return err ? err : text_put(name, length, "%.*s", (int)sizeof(info.out_name), info.out_name);
}

void device_print_uuid(char *out, const struct emugpu_info *info)
{
	const __u8 *u = info->out_uuid;

	snprintf(out, DEVICE_UUID_SIZE, "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
		 u[0], u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13], u[14], u[15]);
}

nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid, unsigned int length)
{
	struct emugpu_info info;
	nvmlReturn_t err = device_get(device, uuid, &info);
	char text[DEVICE_UUID_SIZE];

	if (err)
		return err;
	device_print_uuid(text, &info);
	return text_put(uuid, length, "%s", text);
}

nvmlReturn_t nvmlDeviceGetBrand(nvmlDevice_t device, nvmlBrandType_t *brand)
{
	struct emugpu_info info;
	nvmlReturn_t err = device_get(device, brand, &info);

	if (!err)
		*brand = NVML_BRAND_UNKNOWN;
	return err;
}

nvmlReturn_t nvmlDeviceGetArchitecture(nvmlDevice_t device, nvmlDeviceArchitecture_t *architecture)
{
	struct emugpu_info info;
	nvmlReturn_t err = device_get(device, architecture, &info);

	if (!err)
		*architecture = info.out_coherent ? NVML_DEVICE_ARCH_BLACKWELL : NVML_DEVICE_ARCH_HOPPER;
	return err;
}

nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int *major, int *minor)
{
	struct emugpu_info info;
	nvmlReturn_t err = device_get(device, major && minor ? major : NULL, &info);

	if (err)
		return err;
	*major = info.out_coherent ? 10 : 9;	/* as GB200, and as H200 */
	*minor = 0;
	return NVML_SUCCESS;
}
