// SPDX-License-Identifier: MIT
/* CUDA before cuInit(), after fork() and without a context; device attributes. Passes on a real GPU, too. */
#include "cu.h"

#include <dlfcn.h>

#define MIB ((size_t)1 << 20)
#define HOST(p) ((CUdeviceptr)(uintptr_t)(p))

static char host[64];

CASE_BY_NAME(init_without_gpu_is_no_device)
{
	int n;

	IS(cuInit(0), CUDA_ERROR_NO_DEVICE);
	IS(cuInit(0), CUDA_ERROR_NO_DEVICE);
	IS(cuDeviceGetCount(&n), CUDA_ERROR_NOT_INITIALIZED);
}

/* Read the next name of the library's version map; false at the end. */
static bool next_name(FILE *map, char *name)
{
	char line[256], end[2];

	while (fgets(line, sizeof(line), map))
		if (sscanf(line, "\t%99[a-zA-Z0-9_]%1[;]", name, end) == 2)
			return true;
	return false;
}

static bool is_for_all(const char *name)
{
	static const char *const all[] = { "cuGetErrorName", "cuGetErrorString", "cuDriverGetVersion",
					   "cuGetProcAddress", "cuGetProcAddress_v2" };

	for (unsigned int i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (!strcmp(name, all[i]))
			return true;
	return false;
}

static CUresult call(const char *name)
{
	CUresult (*fn)(long, long, long, long, long, long, long, long, long, long);

	*(void **)&fn = dlsym(RTLD_DEFAULT, name);
	return fn ? fn(0, 0, 0, 0, 0, 0, 0, 0, 0, 0) : CUDA_ERROR_NOT_FOUND;
}

/* Number of functions that do not return CUDA_ERROR_NOT_INITIALIZED; -1: libcuda.map is missing */
static int initialized_functions(void)
{
	FILE *map = fopen("emu/cuda/libcuda.map", "r");
	int all = 0, other = 0;
	char next[100];

	if (!map)
		return -1;
	for (; next_name(map, next); all++) {
		if (is_for_all(next) || call(next) == CUDA_ERROR_NOT_INITIALIZED)
			continue;
		other++;
		printf("%s is missing or works\n", next);
	}
	fclose(map);
	return all > 100 ? other : -1;
}

CASE(nothing_works_before_init)
{
	const char *text;
	CUdeviceptr p;
	CUcontext c;
	int n;

	IS(cuDeviceGetCount(&n), CUDA_ERROR_NOT_INITIALIZED);
	IS(cuMemAlloc(&p, 1), CUDA_ERROR_NOT_INITIALIZED);
	IS(cuMemFree(0), CUDA_ERROR_NOT_INITIALIZED);
	IS(cuCtxGetCurrent(&c), CUDA_ERROR_NOT_INITIALIZED);
	IS(cuPointerGetAttribute(&n, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, HOST(&n)), CUDA_ERROR_NOT_INITIALIZED);
	OK(cuDriverGetVersion(&n));
	EXPECT(n >= 13000, "%d", n);
	OK(cuGetErrorName(CUDA_ERROR_INVALID_VALUE, &text));
	EXPECT(!strcmp(text, "CUDA_ERROR_INVALID_VALUE"), "%s", text);
}

static int all_of_a_child(void *unused)
{
	int n = initialized_functions();

	(void)unused;
	fflush(stdout);
	return n;
}

CASE(init_without_flags_is_repeatable)
{
	IS(cuInit(1), CUDA_ERROR_INVALID_VALUE);
	OK(cuInit(0));
	OK(cuInit(0));
}

CASE(memory_needs_a_context)
{
	size_t size;
	CUdeviceptr p;
	CUcontext c;
	CUdevice dev;

	IS(cuMemAlloc(&p, 1), CUDA_ERROR_INVALID_CONTEXT);
	IS(cuMemGetInfo(&size, &size), CUDA_ERROR_INVALID_CONTEXT);
	IS(cuMemGetAddressRange(&p, &size, HOST(host)), CUDA_ERROR_INVALID_CONTEXT);
	IS(cuMemcpyHtoD(4096, host, 0), CUDA_ERROR_INVALID_CONTEXT);
	IS(cuCtxGetDevice(&dev), CUDA_ERROR_INVALID_CONTEXT);
	IS(cuCtxSynchronize(), CUDA_ERROR_INVALID_CONTEXT);
	IS(cuCtxPopCurrent(&c), CUDA_ERROR_INVALID_CONTEXT);
	OK(cuMemFree(0));
	IS(cuMemFree(4096), CUDA_ERROR_INVALID_VALUE);
}

CASE(devices_have_numbers_and_names)
{
	char name[100];
	CUdevice dev;

	IS(cuDeviceGet(&dev, -1), CUDA_ERROR_INVALID_DEVICE);
	IS(cuDeviceGet(&dev, 99), CUDA_ERROR_INVALID_DEVICE);
	IS(cuDeviceGet(NULL, 0), CUDA_ERROR_INVALID_VALUE);
	OK(cuDeviceGet(&dev, 0));
	EXPECT(dev == 0, "%d", dev);
	IS(cuDeviceGetName(NULL, 9, 0), CUDA_ERROR_INVALID_VALUE);
	IS(cuDeviceGetName(name, sizeof(name), 99), CUDA_ERROR_INVALID_DEVICE);
	OK(cuDeviceGetName(name, sizeof(name), 0));
	EXPECT(strlen(name) > 5, "%s", name);
	OK(cuDeviceGetName(name, 5, 0));
	EXPECT(strlen(name) == 4, "%s", name);
}

static int attribute(CUdevice_attribute which)
{
	int value = -1000;

	return cuDeviceGetAttribute(&value, which, 0) ? -1000 : value;
}

CASE(devices_have_pci_address_and_uuid)
{
	char id[64], want[64];
	CUuuid uuid, none = { { 0 } };
	CUdevice dev;

	snprintf(want, sizeof(want), "%04x:%02x:%02x.0", attribute(CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID),
		 attribute(CU_DEVICE_ATTRIBUTE_PCI_BUS_ID), attribute(CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID));
	IS(cuDeviceGetPCIBusId(id, 12, 0), CUDA_ERROR_INVALID_VALUE);
	OK(cuDeviceGetPCIBusId(id, 13, 0));
	EXPECT(!strcasecmp(id, want), "%s, not %s", id, want);
	OK(cuDeviceGetByPCIBusId(&dev, id));
	EXPECT(dev == 0, "%d", dev);
	IS(cuDeviceGetByPCIBusId(&dev, "ffff:ff:1f.7"), CUDA_ERROR_INVALID_DEVICE);
	IS(cuDeviceGetByPCIBusId(&dev, "junk"), CUDA_ERROR_INVALID_VALUE);
	IS(cuDeviceGetByPCIBusId(NULL, id), CUDA_ERROR_INVALID_VALUE);
	OK(cuDeviceGetUuid(&uuid, 0));
	EXPECT(memcmp(&uuid, &none, sizeof(uuid)), "all zero");
}

CASE(device_attributes_match_a_gpu)
{
	size_t total;
	int n;

	EXPECT(attribute(CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING) == 1, "UNIFIED_ADDRESSING");
	EXPECT(attribute(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED) == 1, "RDMA_SUPPORTED");
	EXPECT(attribute(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING) == 100, "RDMA_WRITES_ORDERING");
	EXPECT(attribute(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS) == 1, "RDMA_FLUSH_WRITES_OPTIONS");
	EXPECT(attribute(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED) == 1, "RDMA_WITH_CUDA_VMM");
	EXPECT(attribute(CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED) == 1, "DMA_BUF_SUPPORTED");
	EXPECT(attribute(CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED) == 1, "VIRTUAL_MEMORY_MANAGEMENT");
	EXPECT(attribute(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED) == 1, "MEMORY_POOLS_SUPPORTED");
	EXPECT(attribute(CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY) == 1, "MANAGED_MEMORY");
	EXPECT(attribute(CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY) == 1, "CAN_MAP_HOST_MEMORY");
	EXPECT(attribute(CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED) == 1, "HOST_REGISTER_SUPPORTED");
	EXPECT(attribute(CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM) == 1, "CAN_USE_HOST_POINTER");
	EXPECT(attribute(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES) == 0,
	       "USES_HOST_PAGE_TABLES");
	EXPECT(attribute(CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT) >= 1, "ASYNC_ENGINE_COUNT");
	EXPECT(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_MODE) == 0, "COMPUTE_MODE");
	EXPECT(attribute(CU_DEVICE_ATTRIBUTE_INTEGRATED) == 0, "INTEGRATED");
	EXPECT(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) > 0, "COMPUTE_CAPABILITY_MAJOR");
	IS(cuDeviceGetAttribute(&n, (CUdevice_attribute)9999, 0), CUDA_ERROR_INVALID_VALUE);
	IS(cuDeviceGetAttribute(NULL, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, 0), CUDA_ERROR_INVALID_VALUE);
	IS(cuDeviceGetAttribute(&n, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, 99), CUDA_ERROR_INVALID_DEVICE);
	OK(cuDeviceTotalMem(&total, 0));
	EXPECT(total >= 16 * MIB, "%zu", total);
}

CASE(child_of_fork_is_not_initialized)
{
	int status;

	if (!cu_emulated())
		SKIP("NVIDIA's driver may crash");
	status = cu_in_child(all_of_a_child, NULL);
	EXPECT(WIFEXITED(status) && !WEXITSTATUS(status), "status %#x", status);
}

VMTEST_MAIN
