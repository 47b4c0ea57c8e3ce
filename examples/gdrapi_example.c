// SPDX-License-Identifier: MIT
/*
 * The CPU accesses GPU memory by the API of gdrcopy. NVIDIA's libgdrapi works, too:
 *	cc -Icompat/gdrapi examples/gdrapi_example.c -lgdrapi -lcuda
 */
#include <cuda.h>
#include <errno.h>
#include <gdrapi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	SIZE = 1 << 20,
	TIMES = 1000,
};

static void need(int ok, const char *what, int error)
{
	if (ok)
		return;
	fprintf(stderr, "gdrapi: %s: %s\n", what, strerror(error));
	exit(1);
}

static CUdeviceptr gpu_memory(void)
{
	const CUpointer_attribute sync = CU_POINTER_ATTRIBUTE_SYNC_MEMOPS;
	const int on = 1;
	CUdeviceptr gpu;
	CUcontext ctx;

	need(!cuInit(0) && !cuDevicePrimaryCtxRetain(&ctx, 0) && !cuCtxSetCurrent(ctx), "no GPU", ENODEV);
	need(!cuMemAlloc(&gpu, SIZE), "cuMemAlloc", ENOMEM);
	need(!cuPointerSetAttribute(&on, sync, gpu), "cuPointerSetAttribute", EINVAL);
	return gpu;
}

/* A mapping begins at info.va, which may lie before the pinned address. */
static char *map(gdr_t g, gdr_mh_t mh, CUdeviceptr gpu, void **view)
{
	const char *type;
	gdr_info_t info;
	int ret = gdr_map(g, mh, view, SIZE);

	need(!ret, "gdr_map", ret);
	ret = gdr_get_info(g, mh, &info);
	need(!ret, "gdr_get_info", ret);
	ret = gdr_get_mapping_type_string(info.mapping_type, &type);
	need(!ret, "gdr_get_mapping_type_string", ret);
	printf("%d KiB of GPU memory at 0x%llx are at %p for the CPU (%s)\n", SIZE >> 10, gpu, *view, type);
	return (char *)*view + (gpu - info.va);
}

static void cpu_writes_gpu_reads(gdr_mh_t mh, char *at, CUdeviceptr gpu)
{
	char text[32] = "";

	need(!gdr_copy_to_mapping(mh, at, "written by the CPU", 19), "gdr_copy_to_mapping", EINVAL);
	need(!cuMemcpyDtoH(text, gpu, 19), "cuMemcpyDtoH", EIO);
	printf("the GPU has: %s\n", text);
	need(!strcmp(text, "written by the CPU"), "the GPU has wrong bytes", EIO);
}

static void gpu_writes_cpu_reads(gdr_mh_t mh, const char *at, CUdeviceptr gpu)
{
	char text[32] = "";

	need(!cuMemcpyHtoD(gpu + 100, "written by the GPU", 19), "cuMemcpyHtoD", EIO);
	need(!gdr_copy_from_mapping(mh, text, at + 100, 19), "gdr_copy_from_mapping", EINVAL);
	printf("the CPU reads: %s\n", text);
	need(!strcmp(text, "written by the GPU"), "the CPU reads wrong bytes", EIO);
}

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

/* The mapping is for small copies: CUDA takes microseconds for each. */
static void small_copies(gdr_mh_t mh, char *at, CUdeviceptr gpu)
{
	double start = now_us(), mapped, cuda;
	unsigned int i;

	for (i = 0; i < TIMES; i++)
		need(!gdr_copy_to_mapping(mh, at, &i, sizeof(i)), "gdr_copy_to_mapping", EINVAL);
	mapped = now_us() - start;
	start = now_us();
	for (i = 0; i < TIMES; i++)
		need(!cuMemcpyHtoD(gpu, &i, sizeof(i)), "cuMemcpyHtoD", EIO);
	cuda = now_us() - start;
	printf("writing 4 bytes takes %.2f us, by cuMemcpyHtoD() %.2f us\n", mapped / TIMES, cuda / TIMES);
}

int main(void)
{
	CUdeviceptr gpu = gpu_memory();
	gdr_t g = gdr_open();
	gdr_mh_t mh;
	void *view;
	char *at;
	int ret;

	need(!!g, "gdr_open (is peerpin.ko loaded?)", errno);
	ret = gdr_pin_buffer(g, gpu, SIZE, 0, 0, &mh);
	need(!ret, "gdr_pin_buffer", ret);
	at = map(g, mh, gpu, &view);
	cpu_writes_gpu_reads(mh, at, gpu);
	gpu_writes_cpu_reads(mh, at, gpu);
	small_copies(mh, at, gpu);
	need(!gdr_unmap(g, mh, view, SIZE) && !gdr_unpin_buffer(g, mh), "gdr_unpin_buffer", EINVAL);
	need(!gdr_close(g) && !cuMemFree(gpu), "gdr_close", EIO);
	puts("gdrapi_example: OK");
	return 0;
}
