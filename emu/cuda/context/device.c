// SPDX-License-Identifier: MIT
#include "device.h"

#include "ctx.h"
#include "emu/cuda/export.h"
#include "init.h"
#include "node.h"

#include <stdio.h>
#include <string.h>

static struct emugpu_info devices[MAX_DEVICES];
static int nr_devices;

CUresult device_probe(void)
{
	nr_devices = 0;
	for (unsigned int gpu = 0; gpu < EMUGPU_GPUS_MAX; gpu++)
		if (!node_info(gpu, &devices[nr_devices]))
			nr_devices++;
	return nr_devices ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}

int device_count(void)
{
	return nr_devices;
}

const struct emugpu_info *device_get(CUdevice dev)
{
	return dev >= 0 && dev < nr_devices ? &devices[dev] : NULL;
}

/* The first checks of each function on a device, in the order of NVIDIA's driver. */
static CUresult check(const void *out, CUdevice dev)
{
	CUresult err = lib_ready();

	if (err)
		return err;
	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	return device_get(dev) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDeviceGetCount(int *count)
{
	CUresult err = lib_ready();

	if (err)
		return err;
	if (!count)
		return CUDA_ERROR_INVALID_VALUE;
	*count = nr_devices;
	return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
	CUresult err = check(device, ordinal);

	if (!err)
		*device = ordinal;
	return err;
}

CUresult cuDeviceGetName(char *name, int len, CUdevice dev)
{
	CUresult err = check(name, dev);

	if (err)
		return err;
	if (len <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	snprintf(name, len, "%s", devices[dev].out_name);
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice dev)
{
	CUresult err = check(uuid, dev);

	if (!err)
		memcpy(uuid->bytes, devices[dev].out_uuid, sizeof(uuid->bytes));
	return err;
}

CUresult cuDeviceTotalMem(size_t *bytes, CUdevice dev)
{
	CUresult err = check(bytes, dev);

	if (!err)
		*bytes = devices[dev].out_vram_total;
	return err;
}

CUresult cuDeviceGetPCIBusId(char *id, int len, CUdevice dev)
{
	const struct emugpu_info *info;
	char text[24];
	CUresult err = check(id, dev);
	int n;

	if (err)
		return err;
	info = &devices[dev];
	n = snprintf(text, sizeof(text), "%04x:%02x:%02x.%x", info->out_domain, info->out_bus, info->out_device,
		     info->out_function);
	if (len <= n)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(id, text, n + 1);
	return CUDA_SUCCESS;
}

struct address {
	unsigned int domain, bus, device, function;
};

/* @id has the form of cuDeviceGetPCIBusId(); domain and function may be missing. */
static bool parse(struct address *a, const char *id)
{
	*a = (struct address){ 0 };
	if (sscanf(id, "%x:%x:%x.%x", &a->domain, &a->bus, &a->device, &a->function) >= 3)
		return true;
	*a = (struct address){ 0 };
	return sscanf(id, "%x:%x.%x", &a->bus, &a->device, &a->function) >= 2;
}

static bool is_at(const struct emugpu_info *info, const struct address *a)
{
	return !info->out_integrated && a->domain == info->out_domain && a->bus == info->out_bus &&
	       a->device == info->out_device && a->function == info->out_function;
}

CUresult cuDeviceGetByPCIBusId(CUdevice *dev, const char *id)
{
	CUresult err = lib_ready();
	struct address address;

	if (err)
		return err;
	if (!dev || !id || !parse(&address, id))
		return CUDA_ERROR_INVALID_VALUE;
	for (int i = 0; i < nr_devices; i++) {
		if (!is_at(&devices[i], &address))
			continue;
		*dev = i;
		return CUDA_SUCCESS;
	}
	return CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDeviceComputeCapability(int *major, int *minor, CUdevice dev)
{
	CUresult err = cuDeviceGetAttribute(major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, dev);

	return err ? err : cuDeviceGetAttribute(minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, dev);
}

/*
 * Attributes with the same value for all emulated GPUs. The compute capability is that of an H200,
 * with which the emulation was compared.
 */
static const struct {
	CUdevice_attribute attribute;
	int value;
} constants[] = {
	{ CU_DEVICE_ATTRIBUTE_GPU_OVERLAP, 1 },
	{ CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT, 0 },
	{ CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 1 },
	{ CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, 0 },
	{ CU_DEVICE_ATTRIBUTE_ECC_ENABLED, 0 },
	{ CU_DEVICE_ATTRIBUTE_TCC_DRIVER, 0 },
	{ CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 1 },
	{ CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1 },
	{ CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0 },
	{ CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 1 },
	{ CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, 1 },
	{ CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, 1 },
	{ CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED, 1 },
	{ CU_DEVICE_ATTRIBUTE_DIRECT_MANAGED_MEM_ACCESS_FROM_HOST, 0 },
	{ CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 1 },
	{ CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, 0 },
	{ CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED, 1 },
	{ CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1 },
	{ CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS, CU_FLUSH_GPU_DIRECT_RDMA_WRITES_OPTION_HOST },
	{ CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING, CU_GPU_DIRECT_RDMA_WRITES_ORDERING_OWNER },
	{ CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES, CU_MEM_HANDLE_TYPE_NONE },
	{ CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED, 0 },
	{ CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED, 0 },
	{ CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, 0 },
	{ CU_DEVICE_ATTRIBUTE_HOST_ALLOC_DMA_BUF_SUPPORTED, 0 },
};

static CUresult constant(int *value, CUdevice_attribute attribute)
{
	for (unsigned int i = 0; i < sizeof(constants) / sizeof(constants[0]); i++) {
		if (constants[i].attribute != attribute)
			continue;
		*value = constants[i].value;
		return CUDA_SUCCESS;
	}
	return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice dev)
{
	CUresult err = check(value, dev);

	if (err)
		return err;
	switch (attribute) {
	case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
		*value = devices[dev].out_coherent ? 10 : 9;	/* as GB200, and as H200 */
		return CUDA_SUCCESS;
	case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
		*value = devices[dev].out_bus;
		return CUDA_SUCCESS;
	case CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID:
		*value = devices[dev].out_device;
		return CUDA_SUCCESS;
	case CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID:
		*value = devices[dev].out_domain;
		return CUDA_SUCCESS;
	case CU_DEVICE_ATTRIBUTE_INTEGRATED:
		*value = devices[dev].out_integrated;
		return CUDA_SUCCESS;
	case CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS:
	case CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES:
		*value = devices[dev].out_coherent;
		return CUDA_SUCCESS;
	case CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED:
	case CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED:
	case CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED:
		*value = !devices[dev].out_integrated;
		return CUDA_SUCCESS;
	default:
		return constant(value, attribute);
	}
}

#undef cuDeviceGetUuid
ALIAS(cuDeviceGetUuid, cuDeviceGetUuid_v2);
