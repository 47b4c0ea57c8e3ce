// SPDX-License-Identifier: MIT
/* NVML on the emulated GPU. Its values must equal the values of CUDA and of the kernel. */
#include "cu.h"

#include <dlfcn.h>
#include <nvml.h>

static nvmlDevice_t gpu;

CASE_BY_NAME(init_needs_the_driver)
{
	IS(nvmlInit(), NVML_ERROR_DRIVER_NOT_LOADED);
}

CASE_BY_NAME(init_counts_no_gpu)
{
	unsigned int n;

	OK(nvmlInit());
	OK(nvmlDeviceGetCount(&n));
	EXPECT(n == 0, "%u", n);
	IS(nvmlDeviceGetHandleByIndex(0, &gpu), NVML_ERROR_INVALID_ARGUMENT);
	OK(nvmlShutdown());
}

CASE(no_nvml_call_before_init)
{
	unsigned int n;
	char text[80];

	IS(nvmlDeviceGetCount(&n), NVML_ERROR_UNINITIALIZED);
	IS(nvmlSystemGetDriverVersion(text, sizeof(text)), NVML_ERROR_UNINITIALIZED);
	IS(nvmlShutdown(), NVML_ERROR_UNINITIALIZED);
}

CASE(init_is_counted)
{
	unsigned int n;

	OK(nvmlInit());
	OK(nvmlInitWithFlags(NVML_INIT_FLAG_NO_GPUS));
	OK(nvmlInitWithFlags(0x100));
	OK(nvmlShutdown());
	OK(nvmlShutdown());
	OK(nvmlDeviceGetCount(&n));
	EXPECT(n >= 1, "%u", n);
}

CASE(bad_handles_are_refused)
{
	IS(nvmlDeviceGetHandleByIndex(99, &gpu), NVML_ERROR_INVALID_ARGUMENT);
	IS(nvmlDeviceGetHandleByIndex(0, NULL), NVML_ERROR_INVALID_ARGUMENT);
	OK(nvmlDeviceGetHandleByIndex(0, &gpu));
}

CASE(texts_need_room)
{
	char text[96];

	IS(nvmlDeviceGetName(gpu, text, 3), NVML_ERROR_INSUFFICIENT_SIZE);
	IS(nvmlDeviceGetName(gpu, NULL, 96), NVML_ERROR_INVALID_ARGUMENT);
	IS(nvmlDeviceGetName(NULL, text, 96), NVML_ERROR_INVALID_ARGUMENT);
	OK(nvmlDeviceGetName(gpu, text, sizeof(text)));
	EXPECT(strlen(text) > 5, "%s", text);
	OK(nvmlSystemGetDriverVersion(text, sizeof(text)));
	EXPECT(atoi(text) >= 580, "%s", text);
	EXPECT(strlen(nvmlErrorString((nvmlReturn_t)12345)) > 0, "no text");
}

static void print_uuid(char *out, const CUuuid *uuid)
{
	out += sprintf(out, "GPU");
	for (int i = 0; i < 16; i++)
		out += sprintf(out, "%s%02x", i == 0 || i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
			       (unsigned char)uuid->bytes[i]);
}

CASE(address_and_uuid_equal_cudas)
{
	char text[96], want[96];
	nvmlPciInfo_t pci;
	CUuuid uuid;

	EXPECT(cu_start(0), "no context");
	OK(nvmlDeviceGetPciInfo(gpu, &pci));
	OK(cuDeviceGetPCIBusId(want, sizeof(want), 0));
	EXPECT(!strcasecmp(pci.busIdLegacy, want), "%s, not %s", pci.busIdLegacy, want);
	EXPECT(!strncmp(pci.busId, "0000", 4) && !strcmp(pci.busId + 4, pci.busIdLegacy), "%s", pci.busId);
	EXPECT(!pci.busId[strcspn(pci.busId, "abcdef")], "%s is not in capitals", pci.busId);
	EXPECT(pci.pciDeviceId && pci.pciSubSystemId, "%#x %#x", pci.pciDeviceId, pci.pciSubSystemId);
	OK(cuDeviceGetUuid(&uuid, 0));
	print_uuid(want, &uuid);
	OK(nvmlDeviceGetUUID(gpu, text, sizeof(text)));
	EXPECT(!strcmp(text, want), "%s, not %s", text, want);
}

CASE(versions_of_driver_and_cuda)
{
	char driver[80], nvml[80];
	int cuda = 0;

	OK(nvmlSystemGetDriverVersion(driver, sizeof(driver)));
	OK(nvmlSystemGetNVMLVersion(nvml, sizeof(nvml)));
	EXPECT(strstr(nvml, driver), "%s and %s", nvml, driver);
	OK(nvmlSystemGetCudaDriverVersion(&cuda));
	EXPECT(cuda >= 13000, "%d", cuda);
	OK(nvmlSystemGetCudaDriverVersion_v2(&cuda));
	IS(nvmlSystemGetCudaDriverVersion(NULL), NVML_ERROR_INVALID_ARGUMENT);
	IS(nvmlSystemGetNVMLVersion(nvml, 3), NVML_ERROR_INSUFFICIENT_SIZE);
}

CASE(handles_by_name)
{
	char text[96];
	nvmlDevice_t same;
	nvmlPciInfo_t pci;

	OK(nvmlDeviceGetUUID(gpu, text, sizeof(text)));
	OK(nvmlDeviceGetHandleByUUID(text, &same));
	EXPECT(same == gpu, "the handle is of another GPU");
	OK(nvmlDeviceGetPciInfo(gpu, &pci));
	OK(nvmlDeviceGetHandleByPciBusId(pci.busId, &same));
	EXPECT(same == gpu, "the handle is of another GPU");
	OK(nvmlDeviceGetHandleByPciBusId(pci.busIdLegacy, &same));
	EXPECT(same == gpu, "the handle is of another GPU");
	IS(nvmlDeviceGetHandleByPciBusId("ffff:ff:1f.0", &same), NVML_ERROR_NOT_FOUND);
	IS(nvmlDeviceGetHandleByPciBusId("ffff:ff:1f.7", &same), NVML_ERROR_INVALID_ARGUMENT);
	IS(nvmlDeviceGetHandleByPciBusId("junk", &same), NVML_ERROR_INVALID_ARGUMENT);
	IS(nvmlDeviceGetHandleByUUID(NULL, &same), NVML_ERROR_INVALID_ARGUMENT);
}

CASE(pci_info_v2_equals_v3)
{
	nvmlPciInfo_t now, before;

	memset(&before, 0x55, sizeof(before));
	OK(nvmlDeviceGetPciInfo(gpu, &now));
	OK(nvmlDeviceGetPciInfo_v2(gpu, &before));
	EXPECT(!strcmp(now.busIdLegacy, before.busIdLegacy), "%s, not %s", before.busIdLegacy, now.busIdLegacy);
	EXPECT(now.domain == before.domain && now.bus == before.bus && now.device == before.device &&
	       now.pciDeviceId == before.pciDeviceId && now.pciSubSystemId == before.pciSubSystemId, "differs");
	EXPECT(before.busId[31] == 0x55, "the PCI info was written past its end");
}

CASE(index_brand_architecture_and_capability)
{
	nvmlDeviceArchitecture_t architecture = 77;
	unsigned int n = 77;
	nvmlBrandType_t brand = 77;
	int major = 0, minor = 77, want = -1;

	OK(nvmlDeviceGetIndex(gpu, &n));
	EXPECT(n == 0, "%u", n);
	n = 77;
	OK(nvmlDeviceGetMinorNumber(gpu, &n));
	EXPECT(n == 0, "minor number %u", n);
	OK(nvmlDeviceGetBrand(gpu, &brand));
	OK(nvmlDeviceGetArchitecture(gpu, &architecture));
	/* The emulated GPU has the brand of an H200. An H100 has the brand 14, NVIDIA. */
	EXPECT(brand == NVML_BRAND_UNKNOWN || (!cu_emulated() && brand == 14), "%d", brand);
	EXPECT(architecture == NVML_DEVICE_ARCH_HOPPER, "%u", architecture);
	OK(nvmlDeviceGetCudaComputeCapability(gpu, &major, &minor));
	OK(cuDeviceGetAttribute(&want, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0));
	EXPECT(major == want, "%d.%d, not %d", major, minor, want);
	OK(cuDeviceGetAttribute(&want, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0));
	EXPECT(minor == want, "%d.%d, not .%d", major, minor, want);
	IS(nvmlDeviceGetIndex(gpu, NULL), NVML_ERROR_INVALID_ARGUMENT);
}

CASE(unsupported_nvml_calls_return_not_supported)
{
	static const char *const names[] = { "nvmlDeviceGetFieldValues", "nvmlDeviceGetNvLinkRemotePciInfo_v2",
					     "nvmlDeviceGetGpuFabricInfoV" };
	nvmlReturn_t (*fn)(nvmlDevice_t, void *, void *);

	if (!cu_emulated())
		SKIP("NVIDIA's driver has these functions");
	for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		*(void **)&fn = dlsym(RTLD_DEFAULT, names[i]);
		EXPECT(fn && fn(gpu, NULL, NULL) == NVML_ERROR_NOT_SUPPORTED, "%s", names[i]);
	}
}

CASE(memory_info_v2_checks_version)
{
	nvmlMemory_v2_t memory = { .version = nvmlMemory_v2 };

	OK(nvmlDeviceGetMemoryInfo_v2(gpu, &memory));
	EXPECT(memory.total && memory.free <= memory.total && memory.used <= memory.total, "%llu of %llu", memory.free,
	       memory.total);
	memory.version = 77;
	IS(nvmlDeviceGetMemoryInfo_v2(gpu, &memory), NVML_ERROR_FUNCTION_NOT_FOUND);
}

CASE(memory_info_follows_allocations)
{
	nvmlMemory_t before, after;
	CUdeviceptr p;
	size_t total;

	OK(nvmlDeviceGetMemoryInfo(gpu, &before));
	OK(cuDeviceTotalMem(&total, 0));
	EXPECT(before.total >= total && before.free <= total, "%llu of %llu", before.free, before.total);
	OK(cuMemAlloc(&p, 8 << 20));
	OK(nvmlDeviceGetMemoryInfo(gpu, &after));
	EXPECT(before.free - after.free == 8 << 20, "%llu, %llu", before.free, after.free);
	EXPECT(after.used + after.free == after.total, "%llu and %llu", after.used, after.free);
	OK(cuMemFree(p));
}

CASE(bar1_used_and_free_add_up)
{
	nvmlBAR1Memory_t bar1;

	IS(nvmlDeviceGetBAR1MemoryInfo(gpu, NULL), NVML_ERROR_INVALID_ARGUMENT);
	OK(nvmlDeviceGetBAR1MemoryInfo(gpu, &bar1));
	EXPECT(bar1.bar1Total >= 16 << 20 && bar1.bar1Used + bar1.bar1Free == bar1.bar1Total, "%llu: %llu and %llu",
	       bar1.bar1Total, bar1.bar1Used, bar1.bar1Free);
}

static int child(void *unused)
{
	unsigned int n;

	(void)unused;
	if (nvmlDeviceGetCount(&n) != NVML_ERROR_UNINITIALIZED)
		return 1;
	return nvmlInit() || nvmlDeviceGetCount(&n) || nvmlShutdown();
}

CASE(child_can_init_again)
{
	int status = cu_in_child(child, NULL);
	unsigned int n;

	EXPECT(WIFEXITED(status) && !WEXITSTATUS(status), "status %#x", status);
	OK(nvmlDeviceGetCount(&n));
}

CASE(last_shutdown_uninitializes)
{
	unsigned int n;

	OK(nvmlShutdown());
	IS(nvmlDeviceGetCount(&n), NVML_ERROR_UNINITIALIZED);
	IS(nvmlShutdown(), NVML_ERROR_UNINITIALIZED);
}

VMTEST_MAIN
