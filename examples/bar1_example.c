// SPDX-License-Identifier: MIT
/*
 * Space for pins. Shows the BAR1 aperture of each GPU, the part of it that a pin takes, and the
 * error when the aperture is full.
 */
#include <cuda.h>
#include <errno.h>
#include <libpeerpin.h>
#include <peerpin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	SIZE = 16 << 20,
};

static void need(int ok, const char *what, const char *why)
{
	if (ok)
		return;
	fprintf(stderr, "bar1: %s: %s\n", what, why);
	exit(1);
}

static void succeed(const char *what, int error, const struct pp_why *why)
{
	char text[256];

	pp_explain(text, sizeof(text), error, why);
	need(!error, what, text);
}

static uint64_t show(const char *when, unsigned int gpu)
{
	struct pp_bar1 bar;

	succeed("pp_bar1", pp_bar1(gpu, &bar), NULL);
	printf("%s, GPU %u (%s at %s): %llu of %llu MiB used\n", when, gpu, bar.name, bar.pci,
	       (unsigned long long)bar.used >> 20, (unsigned long long)bar.total >> 20);
	need(bar.used + bar.free == bar.total, "BAR1", "used + free is not the total");
	return bar.used;
}

static void show_all(void)
{
	struct pp_bar1 bar;
	unsigned int i;
	int ret;

	for (i = 0; !(ret = pp_bar1(i, &bar)); i++)
		show("at start", i);
	need(i && ret == -ENODEV, "GPUs", strerror(-ret));
}

static CUdeviceptr gpu_memory(size_t size)
{
	CUdeviceptr gpu;

	need(!cuMemAlloc(&gpu, size), "cuMemAlloc", "no memory");
	return gpu;
}

/* Allocate and pin more memory. Return 0, or write the reason of the failure to @text (@room bytes). */
static int pin_more(struct pp_ctx *ctx, char *text, size_t room)
{
	struct pp_region region;
	struct pp_why why;
	CUdeviceptr gpu;
	CUresult result = cuMemAlloc(&gpu, SIZE);
	int ret;

	if (result == CUDA_ERROR_OUT_OF_MEMORY)
		return snprintf(text, room, "the GPU memory is full, but not the BAR1 aperture");
	need(!result, "cuMemAlloc", "failed");
	ret = pp_pin(ctx, (void *)(uintptr_t)gpu, SIZE, &region, &why);
	pp_explain(text, room, ret, &why);
	need(!ret || ret == -EDQUOT || (why.reason == PEERPIN_REASON_NO_BAR1 && why.needed >= SIZE), "full BAR1", text);
	return ret;
}

/* Pin until the aperture, the GPU memory, or a limit of peerpin is reached. */
static void fill(struct pp_ctx *ctx)
{
	char text[256];
	int n = 0;

	while (!pin_more(ctx, text, sizeof(text)))
		n++;
	printf("%d more pins, then: %s\n", n, text);
}

int main(void)
{
	struct pp_region region;
	struct pp_ctx *ctx;
	struct pp_why why;
	uint64_t before;
	CUdeviceptr gpu;
	CUcontext cuda;

	need(!cuInit(0) && !cuDevicePrimaryCtxRetain(&cuda, 0) && !cuCtxSetCurrent(cuda), "GPU 0", "not available");
	show_all();
	succeed("/dev/peerpin", pp_open(&ctx), NULL);
	gpu = gpu_memory(SIZE);
	before = show("allocated", 0);
	succeed("pp_pin", pp_pin(ctx, (void *)(uintptr_t)gpu, SIZE, &region, &why), &why);
	need(show("pinned", 0) >= before + SIZE, "pinned", "BAR1 usage did not grow");
	fill(ctx);
	pp_close(ctx);
	puts("bar1: OK");
	return 0;
}
