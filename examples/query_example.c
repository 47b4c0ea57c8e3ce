// SPDX-License-Identifier: MIT
/*
 * The kind of memory at a pointer: host, GPU and managed memory, and a GPU pointer that was freed
 * and allocated again.
 */
#include <cuda.h>
#include <inttypes.h>
#include <libpeerpin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	SIZE = 4 << 20,
};

static void need(int ok, const char *what, const char *why)
{
	if (ok)
		return;
	fprintf(stderr, "query: %s: %s\n", what, why);
	exit(1);
}

static void open_gpu(void)
{
	CUcontext ctx;

	need(!cuInit(0) && !cuDevicePrimaryCtxRetain(&ctx, 0) && !cuCtxSetCurrent(ctx), "GPU 0", "not available");
}

static struct pp_mem query(const char *what, const void *addr, enum pp_mem_kind wanted)
{
	static const char *const kinds[] = {
		[PP_MEM_HOST] = "host memory", [PP_MEM_GPU] = "GPU memory", [PP_MEM_MANAGED] = "managed memory",
	};
	struct pp_mem mem;
	int ret = pp_query(addr, &mem);

	need(!ret, what, strerror(-ret));
	printf("%s: %s", what, kinds[mem.kind]);
	if (mem.kind != PP_MEM_HOST)
		printf(" of device %d, %" PRIu64 " bytes at 0x%" PRIx64 ", buffer id %" PRIu64, mem.device, mem.size,
		       mem.base, mem.buffer_id);
	putchar('\n');
	need(mem.kind == wanted, what, "wrong kind of memory");
	return mem;
}

static void *gpu_memory(void)
{
	CUdeviceptr gpu;

	need(!cuMemAlloc(&gpu, SIZE), "cuMemAlloc", "no memory");
	return (void *)(uintptr_t)gpu;
}

/* After a free the same address can be of another allocation. Only the buffer id tells the difference. */
static void again(void *gpu)
{
	struct pp_mem before = query("in the middle of an allocation", (char *)gpu + SIZE / 2, PP_MEM_GPU), after;
	void *next;

	need(before.base == (uintptr_t)gpu && before.size == SIZE && before.rdma, "allocation", "wrong base or size");
	cuMemFree((CUdeviceptr)(uintptr_t)gpu);
	query("after cuMemFree()", gpu, PP_MEM_HOST);
	next = gpu_memory();
	after = query("the next allocation", next, PP_MEM_GPU);
	need(after.buffer_id != before.buffer_id, "buffer id", "used twice");
	cuMemFree((CUdeviceptr)(uintptr_t)next);
}

int main(void)
{
	int ret, on_the_stack = 0;
	CUdeviceptr managed;
	void *gpu;

	query("before CUDA is initialised", &on_the_stack, PP_MEM_HOST);
	open_gpu();
	query("a variable", &on_the_stack, PP_MEM_HOST);
	need(!cuMemAllocManaged(&managed, SIZE, CU_MEM_ATTACH_GLOBAL), "cuMemAllocManaged", "no memory");
	query("managed", (void *)(uintptr_t)managed, PP_MEM_MANAGED);
	cuMemFree(managed);

	gpu = gpu_memory();
	/* once for each allocation that a device accesses without the registration cache */
	ret = pp_sync_memops(gpu);
	need(!ret, "pp_sync_memops", strerror(-ret));
	again(gpu);
	puts("query: OK");
	return 0;
}
