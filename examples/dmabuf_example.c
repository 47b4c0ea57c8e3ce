// SPDX-License-Identifier: MIT
/*
 * A cache of dma-bufs that the GPU driver exports. An importer can be ibv_reg_dmabuf_mr() of an
 * RDMA adapter. Here it is /dev/peerpin, so that a peer device (lsi0) reads the memory.
 */
#include <cuda.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libpeerpin.h>
#include <peerpin_lsi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum {
	SIZE = 4 << 20,
	AT = 100000,
	LENGTH = 200000,
};

static void need(int ok, const char *what, const char *why)
{
	if (ok)
		return;
	fprintf(stderr, "dmabuf: %s: %s\n", what, why);
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
	need(!cuMemAlloc(&gpu, SIZE) && !cuMemsetD8(gpu, 0, SIZE), "cuMemAlloc", "no memory");
	need(!cuMemsetD8(gpu + AT, 0x2a, LENGTH) && !cuCtxSynchronize(), "cuMemsetD8", "failed");
	return gpu;
}

/* The importer. It unpins its region before the caller calls pp_cache_put(). */
static void import(const struct pp_dmabuf *dmabuf, uint64_t offset, void *to)
{
	struct peerpin_lsi_copy copy = {
		.size = sizeof(copy),
		.flags = PEERPIN_LSI_DST_POINTER,
		.dst = { .offset = (uintptr_t)to },
		.src = { .offset = offset },
		.length = LENGTH,
	};
	int lsi = open("/dev/lsi0", O_RDWR | O_CLOEXEC);
	struct pp_region region;
	struct pp_ctx *ctx;
	struct pp_why why;
	int ret;

	need(lsi >= 0, "/dev/lsi0", strerror(errno));
	succeed("/dev/peerpin", pp_open(&ctx), NULL);
	succeed("pp_pin_dmabuf", pp_pin_dmabuf(ctx, dmabuf->fd, 0, dmabuf->length, &region, &why), &why);
	copy.src.fd = pp_fd(ctx);
	copy.src.region = region.id;
	ret = ioctl(lsi, PEERPIN_LSI_IOC_COPY, &copy);
	need(!ret, "copy", strerror(errno));
	close(lsi);
	pp_close(ctx);
}

static void device_reads(struct pp_cache *cache, CUdeviceptr at)
{
	const struct pp_cache_entry *entry;
	const struct pp_dmabuf *dmabuf;
	char *bytes = malloc(LENGTH);
	struct pp_why why;

	need(!!bytes, "malloc", "no memory");
	succeed("pp_cache_get", pp_cache_get(cache, (void *)(uintptr_t)at, LENGTH, &entry, &why), &why);
	dmabuf = entry->reg;
	import(dmabuf, at - dmabuf->addr, bytes);
	pp_cache_put(cache, entry);
	need(bytes[0] == 0x2a && !memcmp(bytes, bytes + 1, LENGTH - 1), "the device", "read wrong bytes");
	free(bytes);
}

int main(void)
{
	CUdeviceptr gpu = gpu_memory();
	struct pp_cache_stats stats;
	struct pp_cache *cache;

	succeed("pp_cache_create_dmabuf", pp_cache_create_dmabuf(NULL, &cache), NULL);
	device_reads(cache, gpu + AT);
	device_reads(cache, gpu + AT);
	pp_cache_stats(cache, &stats);
	printf("a device read %d bytes of the GPU twice, through %" PRIu64 " dma-buf of %" PRIu64 " bytes\n", LENGTH,
	       stats.pins, stats.bytes);
	need(stats.pins == 1, "dma-bufs", "more than one");
	pp_cache_destroy(cache);
	cuMemFree(gpu);
	puts("dmabuf: OK");
	return 0;
}
