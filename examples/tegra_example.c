// SPDX-License-Identifier: MIT
/*
 * On a Jetson: a PCIe device copies memory that the CPU writes to memory that the CPU reads. Both
 * are from cuMemHostAlloc(), because peers reach no other CUDA memory.
 *
 *	build/bin/examples/tegra [PEER]		(lsi0)
 */
#include <cuda.h>
#include <errno.h>
#include <peerpin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include "libpeerpin.h"

enum {
	SIZE = 4 << 20,
};

static void die(const char *what, const char *why)
{
	fprintf(stderr, "tegra: %s: %s\n", what, why);
	exit(EXIT_FAILURE);
}

static void cuda(const char *what, CUresult r)
{
	const char *name = "an unknown error";

	if (r) {
		cuGetErrorName(r, &name);
		die(what, name);
	}
}

static void peerpin(const char *what, int ret, const struct pp_why *why)
{
	char text[256];

	if (ret) {
		pp_explain(text, sizeof(text), ret, why);
		die(what, text);
	}
}

static void open_gpu(void)
{
	int integrated = 0;
	CUcontext ctx;

	cuda("cuInit", cuInit(0));
	cuda("cuDevicePrimaryCtxRetain", cuDevicePrimaryCtxRetain(&ctx, 0));
	cuda("cuCtxSetCurrent", cuCtxSetCurrent(ctx));
	cuda("cuDeviceGetAttribute", cuDeviceGetAttribute(&integrated, CU_DEVICE_ATTRIBUTE_INTEGRATED, 0));
	if (!integrated)
		die("GPU 0", "not integrated; type: emu/vm/run --tegra -- build/bin/examples/tegra");
}

/* Print the cache attribute of the memory. All mappings of a page must have the same attribute. */
static void show(struct pp_ctx *ctx, const char *name, void *at)
{
	static const char *const caching[] = {
		[PEERPIN_CACHING_NONE] = "not mapped", [PEERPIN_CACHING_CACHED] = "cached",
		[PEERPIN_CACHING_COMBINED] = "write-combined", [PEERPIN_CACHING_UNCACHED] = "uncached",
	};
	struct peerpin_query q = { .size = sizeof(q) };
	struct pp_region region;
	struct pp_why why;

	peerpin(name, pp_pin(ctx, at, SIZE, &region, &why), &why);
	q.region = region.id;
	if (ioctl(pp_fd(ctx), PEERPIN_IOC_QUERY, &q))
		die(name, strerror(errno));
	printf("%s: %llu pages of %u bytes, %s\n", name, (unsigned long long)(region.length / region.page_size),
	       region.page_size, caching[q.out_caching]);
	peerpin(name, pp_unpin(ctx, &region), NULL);
}

static void copy(struct pp_ctx *ctx, const char *device, void *to, void *from)
{
	struct pp_copy_result result;
	struct pp_cache *cache;
	struct pp_peer *peer;

	peerpin("cache", pp_cache_create_ctx(ctx, NULL, &cache), NULL);
	peerpin(device, pp_peer_open(device, cache, &peer), NULL);
	peerpin("copy", pp_peer_copy(peer, to, from, SIZE, &result), &result.why);
	printf("%s copied %llu bytes in %llu us\n", device, (unsigned long long)result.bytes,
	       (unsigned long long)result.engine_ns / 1000);
	pp_peer_close(peer);
	pp_cache_destroy(cache);
}

int main(int argc, char **argv)
{
	unsigned char *from, *to;
	struct pp_ctx *ctx;
	size_t i;

	open_gpu();
	/* the CPU only writes the buffer "from", and only reads the buffer "to" */
	cuda("from", cuMemHostAlloc((void **)&from, SIZE, CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED));
	cuda("to", cuMemHostAlloc((void **)&to, SIZE, CU_MEMHOSTALLOC_DEVICEMAP));
	for (i = 0; i < SIZE; i++)
		from[i] = (unsigned char)(i * 37 >> 5);
	memset(to, 0, SIZE);
	peerpin("/dev/peerpin", pp_open(&ctx), NULL);
	show(ctx, "from", from);
	show(ctx, "to", to);
	copy(ctx, argc > 1 ? argv[1] : "lsi0", to, from);
	for (i = 0; i < SIZE; i++)
		if (to[i] != (unsigned char)(i * 37 >> 5))
			die("compare", "the bytes differ");
	pp_close(ctx);
	cuda("free", cuMemFreeHost(from));
	cuda("free", cuMemFreeHost(to));
	puts("tegra: OK");
}
