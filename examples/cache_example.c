// SPDX-License-Identifier: MIT
/*
 * The registration cache: the first get of an allocation pins it, the next gets are look-ups. A get
 * after cuMemFree() does not return the old registration.
 */
#include <cuda.h>
#include <inttypes.h>
#include <libpeerpin.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
	SIZE = 8 << 20,
	CHUNK = 64 << 10,
};

static void need(int ok, const char *what, const char *why)
{
	if (ok)
		return;
	fprintf(stderr, "cache: %s: %s\n", what, why);
	exit(1);
}

static void succeed(const char *what, int error, const struct pp_why *why)
{
	char text[256];

	pp_explain(text, sizeof(text), error, why);
	need(!error, what, text);
}

static void open_gpu(void)
{
	CUcontext ctx;

	need(!cuInit(0) && !cuDevicePrimaryCtxRetain(&ctx, 0) && !cuCtxSetCurrent(ctx), "GPU 0", "not available");
}

static CUdeviceptr gpu_memory(void)
{
	CUdeviceptr gpu;

	need(!cuMemAlloc(&gpu, SIZE), "cuMemAlloc", "no memory");
	return gpu;
}

/* A real program passes pp_fd(), region id and offset to a driver. After the DMA it calls pp_cache_put(). */
static uint32_t use(struct pp_cache *cache, CUdeviceptr at)
{
	const struct pp_cache_entry *entry;
	const struct pp_region *region;
	struct pp_why why;
	uint32_t id;

	succeed("pp_cache_get", pp_cache_get(cache, (void *)(uintptr_t)at, CHUNK, &entry, &why), &why);
	region = entry->reg;
	need(region->addr <= at && region->addr + region->length >= at + CHUNK, "entry", "does not cover the range");
	id = region->id;
	pp_cache_put(cache, entry);
	return id;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static void use_all(struct pp_cache *cache, CUdeviceptr gpu)
{
	uint64_t start = now_ns(), first;
	uint32_t id = use(cache, gpu);

	first = now_ns() - start;
	start = now_ns();
	for (int i = CHUNK; i < SIZE; i += CHUNK)
		need(use(cache, gpu + i) == id, "the allocation", "has more than one registration");
	printf("first get %" PRIu64 " ns, the next %" PRIu64 " ns each\n", first,
	       (now_ns() - start) / (SIZE / CHUNK - 1));
}

static void free_and_use(struct pp_cache *cache, CUdeviceptr gpu)
{
	struct pp_cache_stats stats;
	CUdeviceptr next;

	need(!cuMemFree(gpu), "cuMemFree", "failed");
	next = gpu_memory();
	printf("freed %#llx, then allocated %#llx\n", gpu, next);
	use(cache, next);
	pp_cache_stats(cache, &stats);
	printf("%" PRIu64 " hits, %" PRIu64 " pins, %" PRIu64 " found revoked\n", stats.hits, stats.pins,
	       stats.revocations);
	need(stats.hits == SIZE / CHUNK - 1 && stats.pins == 2, "statistics", "unexpected numbers");
	need(!cuMemFree(next), "cuMemFree", "failed");
}

int main(void)
{
	/* Above this limit the cache unpins idle registrations, least recently used first. */
	const struct pp_cache_attr attr = { .max_bytes = 64 << 20 };
	struct pp_cache *cache;
	struct pp_ctx *ctx;
	CUdeviceptr gpu;

	open_gpu();
	gpu = gpu_memory();
	succeed("/dev/peerpin", pp_open(&ctx), NULL);
	succeed("pp_cache_create_ctx", pp_cache_create_ctx(ctx, &attr, &cache), NULL);
	use_all(cache, gpu);
	free_and_use(cache, gpu);
	pp_cache_destroy(cache);
	pp_close(ctx);
	puts("cache: OK");
	return 0;
}
