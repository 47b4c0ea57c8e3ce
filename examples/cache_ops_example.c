// SPDX-License-Identifier: MIT
/*
 * The cache with your own pin and unpin functions. At the first use of host memory,
 * cuMemHostRegister() registers the memory, so that CUDA's copies use DMA.
 */
#include <cuda.h>
#include <errno.h>
#include <inttypes.h>
#include <libpeerpin.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	BUFFERS = 4,
	SIZE = 1 << 20,
};

/** struct registrar - argument of the callbacks, which run in any thread; @registered: number of ranges now */
struct registrar {
	uint64_t page;
	atomic_int registered;
};

static void need(int ok, const char *what, const char *why)
{
	if (ok)
		return;
	fprintf(stderr, "cache_ops: %s: %s\n", what, why);
	exit(1);
}

static int error_of(CUresult result)
{
	switch (result) {
	case CUDA_SUCCESS:
		return 0;
	case CUDA_ERROR_OUT_OF_MEMORY:
	case CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED:
		return -ENOMEM;
	default:
		return -EINVAL;
	}
}

/*
 * CUDA refuses overlapping registrations. Then return -ENOMEM: the cache unpins idle
 * registrations, those that overlap the new range first, and retries.
 */
static int pin(void *arg, uint64_t addr, uint64_t length, void **reg, struct pp_why *why)
{
	struct registrar *r = arg;
	int ret = error_of(cuMemHostRegister((void *)(uintptr_t)addr, length, 0));

	(void)why;
	if (ret)
		return ret;
	*reg = (void *)(uintptr_t)addr;
	r->registered++;
	return 0;
}

static void unpin(void *arg, void *reg)
{
	struct registrar *r = arg;

	need(!cuMemHostUnregister(reg), "cuMemHostUnregister", "failed");
	r->registered--;
}

/* Round to whole pages. Return 0: the cache may merge overlapping ranges. */
static int grow(void *arg, uint64_t *addr, uint64_t *length)
{
	uint64_t page = ((struct registrar *)arg)->page, end = (*addr + *length + page - 1) & ~(page - 1);

	*addr &= ~(page - 1);
	*length = end - *addr;
	return 0;
}

static void copy_to_gpu(struct pp_cache *cache, CUdeviceptr gpu, const char *from)
{
	const struct pp_cache_entry *entry;
	int ret = pp_cache_get(cache, from, SIZE, &entry, NULL);

	need(!ret, "pp_cache_get", strerror(-ret));
	need(!cuMemcpyHtoD(gpu, from, SIZE), "cuMemcpyHtoD", "failed");
	pp_cache_put(cache, entry);
}

static char *make_buffer(const struct registrar *r, size_t size, int content)
{
	char *buffer = aligned_alloc(r->page, size);

	need(!!buffer, "aligned_alloc", "no memory");
	return memset(buffer, content, size);
}

/* Without @valid and @word, the cache cannot see a free: the freeing code must invalidate. */
static void free_buffer(struct pp_cache *cache, char *buffer, size_t size)
{
	pp_cache_invalidate(cache, buffer, size);
	free(buffer);
}

static void use(struct pp_cache *cache, const struct registrar *r, CUdeviceptr gpu)
{
	char *buffer[BUFFERS];
	int i;

	for (i = 0; i < BUFFERS; i++)
		buffer[i] = make_buffer(r, SIZE, i);
	for (i = 0; i < 10 * BUFFERS; i++)
		copy_to_gpu(cache, gpu, buffer[i % BUFFERS]);
	need(r->registered == BUFFERS, "registrations", "expected one for each buffer");
	for (i = 0; i < BUFFERS; i++)
		free_buffer(cache, buffer[i], SIZE);
	need(!r->registered, "registrations", "some are left");
}

/* Two overlapping copies end with one registration: the larger one replaces that of the first copy. */
static void use_overlap(struct pp_cache *cache, const struct registrar *r, CUdeviceptr gpu)
{
	char *buffer = make_buffer(r, 2 * SIZE, 0);

	copy_to_gpu(cache, gpu, buffer);
	copy_to_gpu(cache, gpu, buffer + SIZE / 2);
	copy_to_gpu(cache, gpu, buffer);
	need(r->registered == 1, "overlap", "is registered more than once");
	free_buffer(cache, buffer, 2 * SIZE);
}

int main(void)
{
	static const struct pp_cache_ops ops = { .pin = pin, .unpin = unpin, .grow = grow };
	struct registrar r = { .page = sysconf(_SC_PAGESIZE) };
	struct pp_cache_stats stats;
	struct pp_cache *cache;
	CUdeviceptr gpu;
	CUcontext ctx;

	need(!cuInit(0) && !cuDevicePrimaryCtxRetain(&ctx, 0) && !cuCtxSetCurrent(ctx), "GPU 0", "not available");
	need(!cuMemAlloc(&gpu, SIZE) && !pp_cache_create(&ops, &r, NULL, &cache), "cache", "no memory");
	use(cache, &r, gpu);
	use_overlap(cache, &r, gpu);
	pp_cache_stats(cache, &stats);
	printf("%" PRIu64 " copies, %" PRIu64 " registrations\n", stats.hits + stats.misses, stats.pins);
	need(stats.pins == BUFFERS + 2, "registrations", "unexpected number");
	pp_cache_destroy(cache);
	cuMemFree(gpu);
	puts("cache_ops: OK");
	return 0;
}
