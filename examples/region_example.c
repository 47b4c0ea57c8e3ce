// SPDX-License-Identifier: MIT
/*
 * Pin GPU memory, access it by the CPU, notice that it was freed, and explain why memory cannot
 * be pinned.
 */
#include <cuda.h>
#include <libpeerpin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
	SIZE = 4 << 20,	/* whole blocks of 2 MiB, so that the free revokes the pin */
};

static void need(int ok, const char *what, const char *why)
{
	if (ok)
		return;
	fprintf(stderr, "region: %s: %s\n", what, why);
	exit(1);
}

static void succeed(const char *what, int error, const struct pp_why *why)
{
	char text[256];

	pp_explain(text, sizeof(text), error, why);
	need(!error, what, text);
}

static CUdeviceptr gpu_memory(void)
{
	CUdeviceptr gpu;
	CUcontext ctx;

	need(!cuInit(0) && !cuDevicePrimaryCtxRetain(&ctx, 0) && !cuCtxSetCurrent(ctx), "GPU 0", "not available");
	need(!cuMemAlloc(&gpu, SIZE), "cuMemAlloc", "no memory");
	return gpu;
}

/* The offset in the view is the address minus the start of the region. */
static void by_cpu(struct pp_ctx *ctx, const struct pp_region *region, CUdeviceptr gpu)
{
	char text[32] = "", *at;
	void *view;

	succeed("pp_region_map", pp_region_map(ctx, region, 0, region->length, PROT_READ | PROT_WRITE, &view), NULL);
	at = (char *)view + (gpu - region->addr);
	strcpy(at, "written by the CPU");
	__sync_synchronize();	/* the view is write-combined */
	need(!cuMemcpyDtoH(text, gpu, sizeof(text)), "cuMemcpyDtoH", "failed");
	printf("the GPU has: %s\n", text);
	need(!strcmp(text, "written by the CPU"), "the GPU", "has wrong bytes");
	succeed("pp_region_unmap", pp_region_unmap(ctx, view, region->length), NULL);
}

static void free_it(struct pp_ctx *ctx, const struct pp_region *region, CUdeviceptr gpu)
{
	void *view;
	int ret;

	need(pp_region_valid(ctx, region), "region", "revoked too early");
	need(!cuMemFree(gpu), "cuMemFree", "failed");
	need(!pp_region_valid(ctx, region), "region", "valid after its memory was freed");
	ret = pp_region_map(ctx, region, 0, region->length, PROT_READ, &view);
	printf("after cuMemFree() the region is revoked: %s\n", strerror(-ret));
}

static void refused(struct pp_ctx *ctx)
{
	struct pp_region region;
	struct pp_why why;
	char text[256];
	int ret = pp_pin(ctx, (void *)4096, SIZE, &region, &why);

	need(ret, "unmapped memory", "was pinned");
	pp_explain(text, sizeof(text), ret, &why);
	printf("unmapped memory: %s\n", text);
}

int main(void)
{
	CUdeviceptr gpu = gpu_memory() + 1000;
	struct pp_region region;
	struct pp_ctx *ctx;
	struct pp_why why;

	succeed("/dev/peerpin", pp_open(&ctx), NULL);
	succeed("pp_pin", pp_pin(ctx, (void *)(uintptr_t)gpu, SIZE - 1000, &region, &why), &why);
	printf("region %u: %llu pages of %u bytes\n", region.id, (unsigned long long)(region.length / region.page_size),
	       region.page_size);
	need(region.addr <= gpu && region.addr + region.length >= gpu + SIZE - 1000, "region", "does not cover it");
	by_cpu(ctx, &region, gpu);
	free_it(ctx, &region, gpu - 1000);
	succeed("pp_unpin", pp_unpin(ctx, &region), NULL);
	refused(ctx);
	pp_close(ctx);
	puts("region: OK");
	return 0;
}
