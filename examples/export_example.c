// SPDX-License-Identifier: MIT
/*
 * Pass a dma-buf of pinned GPU memory to a second process. The second process uses neither CUDA nor
 * the region of the first process: a peer device (lsi0) copies from the dma-buf.
 */
#include <cuda.h>
#include <errno.h>
#include <fcntl.h>
#include <libpeerpin.h>
#include <peerpin_lsi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	SIZE = 4 << 20,
	FIRST = 1 << 20,	/* export all but the first and last MiB */
	EXPORTED = 2 << 20,
};

static void need(int ok, const char *what, const char *why)
{
	if (ok)
		return;
	fprintf(stderr, "export: %s: %s\n", what, why);
	exit(1);
}

static void succeed(const char *what, int error, const struct pp_why *why)
{
	char text[256];

	pp_explain(text, sizeof(text), error, why);
	need(!error, what, text);
}

/* The device's own driver takes (file, region, offset). */
static void device_copies(struct pp_ctx *ctx, const struct pp_region *region, void *to)
{
	struct peerpin_lsi_copy copy = {
		.size = sizeof(copy),
		.flags = PEERPIN_LSI_DST_POINTER,
		.dst = { .offset = (uintptr_t)to },
		.src = { .fd = pp_fd(ctx), .region = region->id },
		.length = EXPORTED,
	};
	int lsi = open("/dev/lsi0", O_RDWR | O_CLOEXEC), ret;

	need(lsi >= 0, "/dev/lsi0", strerror(errno));
	ret = ioctl(lsi, PEERPIN_LSI_IOC_COPY, &copy);
	need(!ret, "copy", strerror(errno));
	close(lsi);
}

static int other_process(int dmabuf)
{
	char *bytes = malloc(EXPORTED);
	struct pp_region region;
	struct pp_ctx *ctx;
	struct pp_why why;

	need(!!bytes, "malloc", "no memory");
	succeed("/dev/peerpin", pp_open(&ctx), NULL);
	succeed("pp_pin_dmabuf", pp_pin_dmabuf(ctx, dmabuf, 0, EXPORTED, &region, &why), &why);
	device_copies(ctx, &region, bytes);
	need(bytes[0] == 0x2a && !memcmp(bytes, bytes + 1, EXPORTED - 1), "the device", "read wrong bytes");
	printf("process %d: a device read %d bytes of the GPU through a dma-buf\n", getpid(), EXPORTED);
	succeed("pp_unpin", pp_unpin(ctx, &region), NULL);
	pp_close(ctx);
	fflush(stdout);
	_exit(0);
}

static CUdeviceptr gpu_memory(void)
{
	CUdeviceptr gpu;
	CUcontext ctx;

	need(!cuInit(0) && !cuDevicePrimaryCtxRetain(&ctx, 0) && !cuCtxSetCurrent(ctx), "GPU 0", "not available");
	need(!cuMemAlloc(&gpu, SIZE) && !cuMemsetD8(gpu, 0, SIZE), "cuMemAlloc", "no memory");
	need(!cuMemsetD8(gpu + FIRST, 0x2a, EXPORTED) && !cuCtxSynchronize(), "cuMemsetD8", "failed");
	return gpu;
}

int main(void)
{
	CUdeviceptr gpu = gpu_memory();
	struct pp_region region;
	int dmabuf, status = 1;
	struct pp_ctx *ctx;
	struct pp_why why;
	pid_t child;

	succeed("/dev/peerpin", pp_open(&ctx), NULL);
	succeed("pp_pin", pp_pin(ctx, (void *)(uintptr_t)gpu, SIZE, &region, &why), &why);
	succeed("pp_region_export", pp_region_export(ctx, &region, gpu + FIRST - region.addr, EXPORTED, &dmabuf), NULL);
	child = fork();
	if (!child)
		other_process(dmabuf);
	need(waitpid(child, &status, 0) == child && !status, "the other process", "failed");
	close(dmabuf);
	succeed("pp_unpin", pp_unpin(ctx, &region), NULL);
	pp_close(ctx);
	cuMemFree(gpu);
	puts("export: OK");
	return 0;
}
