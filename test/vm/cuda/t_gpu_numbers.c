// SPDX-License-Identifier: MIT
/* GPU numbers of the kernel, CUDA and NVML while GPUs are unbound and bound. Needs two GPUs. */
#include "cu.h"

#include <nvml.h>

#include "test/vm/harness/emu.h"
#include "test/vm/harness/hotplug.h"

static int fd;
static struct emugpu_info gpus[2];

static void unbind(unsigned int gpu)
{
	struct hotplug device = hotplug_gpu(&gpus[gpu]);

	EXPECT(!hotplug_unbind("emugpu", &device), "GPU %u", gpu);
}

static void bind(unsigned int gpu)
{
	struct hotplug device = hotplug_gpu(&gpus[gpu]);

	EXPECT(!hotplug_bind("emugpu", &device), "GPU %u", gpu);
}

SETUP(two_gpus_are_there)
{
	fd = emu_open();
	EXPECT(!emu_info(fd, 0, &gpus[0]) && !emu_info(fd, 1, &gpus[1]), "%d", fd);
	EXPECT(memcmp(gpus[0].out_uuid, gpus[1].out_uuid, sizeof(gpus[0].out_uuid)), "both GPUs have one UUID");
}

CASE(rebound_gpu_keeps_its_number)
{
	struct emugpu_info now;
	int first;

	unbind(0);
	unbind(1);
	bind(1);
	first = emu_info(fd, 0, &now);
	bind(0);
	EXPECT(first == -ENODEV, "GPU 1 took the number of GPU 0");
	for (unsigned int gpu = 0; gpu < 2; gpu++) {
		EXPECT(!emu_info(fd, gpu, &now), "GPU %u", gpu);
		EXPECT(!memcmp(now.out_uuid, gpus[gpu].out_uuid, sizeof(now.out_uuid)), "GPU %u has another UUID", gpu);
	}
}

static bool is_the_second(const char *address)
{
	return !strcmp(address, hotplug_gpu(&gpus[1]).address);
}

static bool memory_of_a_handle_is_there(void)
{
	const CUmemAllocationProp prop = {
		.type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 },
	};
	const CUmemAccessDesc access = { prop.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
	CUmemGenericAllocationHandle handle;
	CUdeviceptr p;

	return !cuMemCreate(&handle, EMUGPU_BLOCK_SIZE, &prop, 0) &&
	       !cuMemAddressReserve(&p, EMUGPU_BLOCK_SIZE, 0, 0, 0) && !cuMemMap(p, EMUGPU_BLOCK_SIZE, 0, handle, 0) &&
	       !cuMemSetAccess(p, EMUGPU_BLOCK_SIZE, &access, 1) && !cuMemsetD8(p, 7, 1);
}

static int memory_works(void)
{
	size_t available, total;
	CUdeviceptr p;
	char back = 0;

	if (!cu_start(0) || cuMemAlloc(&p, 1) || cuMemsetD8(p, 7, 1) || cuMemcpyDtoH(&back, p, 1))
		return 3;
	if (back != 7 || cuMemGetInfo(&available, &total))
		return 4;
	return memory_of_a_handle_is_there() ? 0 : 5;
}

static int cuda_has_the_second(void *unused)
{
	char address[16];
	int n;

	(void)unused;
	if (cuInit(0) || cuDeviceGetCount(&n) || n != 1)
		return 1;
	if (cuDeviceGetPCIBusId(address, sizeof(address), 0) || !is_the_second(address))
		return 2;
	return memory_works();
}

static int nvml_has_the_second(void *unused)
{
	unsigned int n, index = 77;
	nvmlDevice_t gpu, same;
	nvmlPciInfo_t pci;

	(void)unused;
	if (nvmlInit() || nvmlDeviceGetCount(&n) || n != 1)
		return 1;
	if (nvmlDeviceGetHandleByIndex(0, &gpu) || nvmlDeviceGetPciInfo(gpu, &pci) || !is_the_second(pci.busIdLegacy))
		return 2;
	if (nvmlDeviceGetIndex(gpu, &index) || index)
		return 3;
	if (nvmlDeviceGetHandleByIndex(1, &same) != NVML_ERROR_INVALID_ARGUMENT)
		return 4;
	return nvmlDeviceGetHandleByPciBusId(pci.busId, &same) || same != gpu ? 5 : 0;
}

CASE(second_gpu_works_without_first)
{
	int cuda, nvml;

	unbind(0);
	cuda = cu_in_child(cuda_has_the_second, NULL);
	nvml = cu_in_child(nvml_has_the_second, NULL);
	bind(0);
	EXPECT(!cuda, "CUDA: %#x", cuda);
	EXPECT(!nvml, "NVML: %#x", nvml);
}

VMTEST_MAIN
