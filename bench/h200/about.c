// SPDX-License-Identifier: MIT
/* The machine of the measurements */
#include <dlfcn.h>
#include <sys/utsname.h>
#include "h200.h"

static void driver_version(char *out, unsigned int room)
{
	void *nvml = dlopen("libnvidia-ml.so.1", RTLD_NOW);
	int (*init)(void) = nvml ? (int (*)(void))dlsym(nvml, "nvmlInit_v2") : NULL;
	int (*ask)(char *, unsigned int);

	snprintf(out, room, "unknown, as there is no NVML");
	if (!init || init())
		return;
	ask = (int (*)(char *, unsigned int))dlsym(nvml, "nvmlSystemGetDriverVersion");
	if (!ask || ask(out, room))
		snprintf(out, room, "unknown to NVML");
}

static int attribute(CUdevice_attribute which)
{
	int value = -1;

	return cuDeviceGetAttribute(&value, which, 0) ? -1 : value;
}

void part_about(void)
{
	char name[96], driver[80];
	struct utsname system;
	size_t total;
	int cuda;

	NEED(cuDeviceGetName(name, sizeof(name), 0));
	NEED(cuDeviceTotalMem(&total, 0));
	NEED(cuDriverGetVersion(&cuda));
	NEED(uname(&system));
	driver_version(driver, sizeof(driver));
	printf("| | |\n| --- | --- |\n");
	printf("| GPU | %s, %zu MiB |\n", name, total / MIB);
	printf("| driver | %s |\n| CUDA of the driver | %d.%d |\n", driver, cuda / 1000, cuda % 1000 / 10);
	printf("| kernel | %s %s |\n", system.sysname, system.release);
	printf("| peerpin | %s |\n", PP_VERSION);
	printf("| dma-bufs supported | %d |\n", attribute(CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED));
	printf("| GPUDirect RDMA supported | %d |\n", attribute(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED));
}

void part_flush(void)
{
	static const CUflushGPUDirectRDMAWritesScope scopes[] = {
		CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER, CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_ALL_DEVICES,
	};
	static const char *const names[] = { "to the owner", "to all devices" };
	enum { SAMPLES = 1001 };
	uint64_t took[SAMPLES], start;

	printf("CUDA's attributes of the GPU: `FLUSH_WRITES_OPTIONS` %d, `WRITES_ORDERING` %d.\n\n"
	       "| scope | median of %d |\n| --- | ---: |\n",
	       attribute(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS),
	       attribute(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING), SAMPLES);
	for (unsigned int s = 0; s < N(scopes); s++) {
		for (unsigned int i = 0; i < SAMPLES; i++) {
			start = now_ns();
			NEED(cuFlushGPUDirectRDMAWrites(CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX, scopes[s]));
			took[i] = now_ns() - start;
		}
		row(names[s], bench_median(took, SAMPLES) * 1000);
	}
}
