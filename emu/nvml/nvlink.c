// SPDX-License-Identifier: MIT
/*
 * nvlink: the NVLinks of the GPUs. Parameters of emugpu.ko say how many there are. By default there are none, and the
 * functions are not supported.
 */
#include "device.h"
#include "export.h"
#include "init.h"

#include <stdio.h>

enum { MAX_LINKS = 18 };

/* struct fabric - @direct: links between each pair of GPUs; @switched: links of each GPU to switches */
struct fabric {
	unsigned int direct, switched;
};

static unsigned int parameter(const char *name)
{
	char path[64];
	unsigned int value = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/sys/module/emugpu/parameters/%s", name);
	file = fopen(path, "re");
	if (!file)
		return 0;
	if (fscanf(file, "%u", &value) != 1)
		value = 0;
	fclose(file);
	return value;
}

static nvmlReturn_t read_fabric(struct fabric *out)
{
	nvmlReturn_t err = lib_ready();

	if (err)
		return err;
	*out = (struct fabric){ .switched = parameter("nvswitch_links") };
	if (!out->switched)
		out->direct = parameter("nvlinks");
	return out->switched || out->direct ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
}

/* Sets *@peer to the GPU at the other end of a link, or to NULL: the link is not active, or leads to a switch. */
static nvmlReturn_t find_peer(const struct fabric *f, nvmlDevice_t device, unsigned int link, nvmlDevice_t *peer)
{
	unsigned int own, count, other;
	nvmlReturn_t err = nvmlDeviceGetIndex(device, &own);

	if (!err)
		err = nvmlDeviceGetCount(&count);
	*peer = NULL;
	if (err || !f->direct)
		return err;
	other = link / f->direct;
	other += other >= own; /* a GPU has no link to itself */
	return other < count ? nvmlDeviceGetHandleByIndex(other, peer) : NVML_SUCCESS;
}

static nvmlReturn_t look_at(nvmlDevice_t device, unsigned int link, const void *out, struct fabric *f,
			    nvmlDevice_t *peer)
{
	nvmlReturn_t err = read_fabric(f);

	if (err)
		return err;
	if (!out || link >= MAX_LINKS)
		return NVML_ERROR_INVALID_ARGUMENT;
	return find_peer(f, device, link, peer);
}

nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t device, unsigned int link, nvmlEnableState_t *is_active)
{
	nvmlDevice_t peer;
	struct fabric f;
	nvmlReturn_t err = look_at(device, link, is_active, &f, &peer);

	if (!err)
		*is_active = peer || link < f.switched ? NVML_FEATURE_ENABLED : NVML_FEATURE_DISABLED;
	return err;
}

nvmlReturn_t nvmlDeviceGetNvLinkRemoteDeviceType(nvmlDevice_t device, unsigned int link,
						 nvmlIntNvLinkDeviceType_t *type)
{
	nvmlDevice_t peer;
	struct fabric f;
	nvmlReturn_t err = look_at(device, link, type, &f, &peer);

	if (!err)
		*type = peer		    ? NVML_NVLINK_DEVICE_TYPE_GPU
			: link < f.switched ? NVML_NVLINK_DEVICE_TYPE_SWITCH
					    : NVML_NVLINK_DEVICE_TYPE_UNKNOWN;
	return err;
}

/* A virtual machine sees no switches, so a link to a switch has no address. */
nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo_v2(nvmlDevice_t device, unsigned int link, nvmlPciInfo_t *pci)
{
	nvmlDevice_t peer;
	struct fabric f;
	nvmlReturn_t err = look_at(device, link, pci, &f, &peer);

	if (err)
		return err;
	return peer ? nvmlDeviceGetPciInfo(peer, pci) : NVML_ERROR_NOT_SUPPORTED;
}

nvmlReturn_t nvmlDeviceGetP2PStatus(nvmlDevice_t a, nvmlDevice_t b, nvmlGpuP2PCapsIndex_t index,
				    nvmlGpuP2PStatus_t *status)
{
	struct emugpu_info info;
	struct fabric f;
	nvmlReturn_t err = read_fabric(&f);

	if (!err)
		err = index == NVML_P2P_CAPS_INDEX_NVLINK ? device_get(a, status, &info) : NVML_ERROR_NOT_SUPPORTED;
	if (!err)
		err = a != b ? device_get(b, status, &info) : NVML_ERROR_INVALID_ARGUMENT;
	if (!err)
		*status = NVML_P2P_STATUS_OK;
	return err;
}
