// SPDX-License-Identifier: MIT
/*
 * Caches of dma-bufs, which need no kernel module: results of a get, and hits while a thread frees.
 * Passes on a real GPU, too.
 */
#include <libpeerpin-hook.h>
#include "watch.h"

enum { MS = 700 };

static struct pp_cache *cache_of(uint32_t watch)
{
	const struct pp_cache_attr attr = { .watch = watch };
	struct pp_cache *cache = NULL;

	return pp_cache_create_dmabuf(&attr, &cache) ? NULL : cache;
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

SETUP(there_is_a_gpu)
{
	EXPECT(cu_start(0), "no GPU");
	EXPECT(!view_catch(), "signals");
}

CASE(bad_watch_or_flags_are_refused)
{
	const struct pp_cache_attr epoch = { .watch = PP_WATCH_EPOCH }, none = { .watch = 99 }, flags = { .pin_flags = 1 };
	struct pp_cache *cache;

	IS(pp_cache_create_dmabuf(&epoch, &cache), -EOPNOTSUPP);
	IS(pp_cache_create_dmabuf(&none, &cache), -EINVAL);
	IS(pp_cache_create_dmabuf(&flags, &cache), -EOPNOTSUPP);
}

CASE(part_of_range_hits_its_entry)
{
	struct pp_cache *cache = cache_of(PP_WATCH_HOOK);
	const struct pp_cache_entry *e, *part;
	const struct pp_dmabuf *d;
	CUdeviceptr p;

	EXPECT(cache, "no cache");
	OK(cuMemAlloc(&p, big.size));
	OK(pp_cache_get(cache, (void *)(p + 12345), 100000, &e, NULL));
	d = e->reg;
	EXPECT(d->addr == p && d->length == big.size, "%lx + %lx", d->addr, d->length);
	EXPECT(lseek(d->fd, 0, SEEK_END) == (off_t)big.size, "%ld bytes", (long)lseek(d->fd, 0, SEEK_END));
	OK(pp_cache_get(cache, (void *)(p + big.size - 1), 1, &part, NULL));
	EXPECT(part == e, "a part of the range got another entry");
	pp_cache_put(cache, part);
	pp_cache_put(cache, e);
	EXPECT(is_open(d->fd), "the dma-buf was closed while cached");
	pp_cache_destroy(cache);
	OK(cuMemFree(p));
}

/* The dma-buf of a small allocation must cover whole 64 KiB pages of the block. */
CASE(small_range_exports_whole_pages)
{
	struct pp_cache *cache = cache_of(PP_WATCH_TAG);
	const struct pp_cache_entry *e;
	const struct pp_dmabuf *d;
	CUdeviceptr p, q;

	EXPECT(cache, "no cache");
	OK(cuMemAlloc(&p, 512));
	OK(cuMemAlloc(&q, 512));
	OK(pp_cache_get(cache, (void *)q, 512, &e, NULL));
	d = e->reg;
	EXPECT(d->addr % (64 << 10) == 0 && d->addr <= q && d->addr + d->length >= q + 512, "%lx + %lx for %llx",
	       d->addr, d->length, q);
	pp_cache_put(cache, e);
	pp_cache_destroy(cache);
	OK(cuMemFree(p));
	OK(cuMemFree(q));
}

/* The 64 KiB page of the allocation begins with freed memory. */
CASE(range_after_freed_memory_exports)
{
	struct pp_cache *cache = cache_of(PP_WATCH_TAG);
	const struct pp_cache_entry *e;
	CUdeviceptr p[200];
	int ret;

	EXPECT(cache, "no cache");
	for (int i = 0; i < 200; i++)
		OK(cuMemAlloc(&p[i], 1024));
	for (int i = 0; i < 199; i++)
		OK(cuMemFree(p[i]));
	ret = pp_cache_get(cache, (void *)p[199], 1024, &e, NULL);
	EXPECT(!ret, "get of the last allocation: %d at %llx", ret, p[199]);
	pp_cache_put(cache, e);
	pp_cache_destroy(cache);
	OK(cuMemFree(p[199]));
}

/* The cache must close its descriptor once. A second close could close another file with this number. */
static void is_closed_once(uint32_t watch)
{
	struct pp_cache *cache = cache_of(watch);
	const struct pp_cache_entry *e;
	CUdeviceptr p;
	int fd;

	EXPECT(cache, "no cache");
	OK(cuMemAlloc(&p, big.size));
	OK(pp_cache_get(cache, (void *)p, big.size, &e, NULL));
	fd = ((const struct pp_dmabuf *)e->reg)->fd;
	pp_cache_put(cache, e);
	OK(cuMemFree(p));
	EXPECT(pp_cache_get(cache, (void *)p, big.size, &e, NULL), "a get of freed memory succeeded");
	EXPECT(!is_open(fd), "the dma-buf of freed memory is open");
	EXPECT(dup2(STDERR_FILENO, fd) == fd, "dup2");
	pp_cache_flush(cache);
	pp_cache_destroy(cache);
	EXPECT(is_open(fd), "the cache closed the descriptor twice");
	close(fd);
}

CASE(hook_closes_the_dmabuf_once)
{
	is_closed_once(PP_WATCH_HOOK);
}

CASE(tag_closes_the_dmabuf_once)
{
	is_closed_once(PP_WATCH_TAG);
}

/* The memory of an entry in use is freed. The entry keeps the dma-buf until the last put. */
CASE(entry_in_use_keeps_its_dmabuf)
{
	struct pp_cache *cache = cache_of(PP_WATCH_HOOK);
	const struct pp_cache_entry *e;
	CUdeviceptr p;
	int fd;

	EXPECT(cache, "no cache");
	OK(cuMemAlloc(&p, big.size));
	OK(pp_cache_get(cache, (void *)p, big.size, &e, NULL));
	fd = ((const struct pp_dmabuf *)e->reg)->fd;
	OK(cuMemFree(p));
	EXPECT(is_open(fd), "the dma-buf was closed while in use");
	pp_cache_put(cache, e);
	EXPECT(!is_open(fd), "the dma-buf is open after the last put");
	pp_cache_destroy(cache);
}

CASE(only_gpu_memory_is_cached)
{
	struct pp_cache *cache = cache_of(PP_WATCH_BEST);
	const struct pp_cache_entry *e;
	CUdeviceptr managed;
	void *locked;
	char here[64];

	EXPECT(cache, "no cache");
	OK(cuMemAllocHost(&locked, big.size));
	OK(cuMemAllocManaged(&managed, big.size, CU_MEM_ATTACH_GLOBAL));
	IS(pp_cache_get(cache, here, sizeof(here), &e, NULL), -EOPNOTSUPP);
	IS(pp_cache_get(cache, (void *)MIB, 1, &e, NULL), -EOPNOTSUPP);
	IS(pp_cache_get(cache, locked, big.size, &e, NULL), -EOPNOTSUPP);
	IS(pp_cache_get(cache, (void *)managed, big.size, &e, NULL), -EINVAL);
	OK(cuMemFreeHost(locked));
	OK(cuMemFree(managed));
	pp_cache_destroy(cache);
}

static CUresult map_memory(CUdeviceptr *va)
{
	const CUmemLocation gpu = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 };
	const CUmemAccessDesc readwrite = { gpu, CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
	CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = gpu };
	CUmemGenericAllocationHandle memory;
	CUresult err;

	prop.allocFlags.gpuDirectRDMACapable = 1;
	err = cuMemAddressReserve(va, big.size, 0, 0, 0) ?: cuMemCreate(&memory, big.size, &prop, 0);
	/* The mapping keeps the memory after this release. */
	return err ?: cuMemMap(*va, big.size, 0, memory, 0) ?: cuMemSetAccess(*va, big.size, &readwrite, 1) ?:
	       cuMemRelease(memory);
}

/* Like PyTorch's "expandable segments". SYNC_MEMOPS cannot be set on this memory. */
CASE(mapped_memory_is_cached_until_unmap)
{
	struct pp_cache *cache = cache_of(PP_WATCH_HOOK);
	const struct pp_cache_entry *e;
	CUdeviceptr va;
	int ret;

	EXPECT(cache, "no cache");
	OK(map_memory(&va));
	ret = pp_cache_get(cache, (void *)va, big.size, &e, NULL);
	EXPECT(!ret, "get of mapped memory: %d", ret);
	pp_cache_put(cache, e);
	OK(cuMemUnmap(va, big.size));
	EXPECT(pp_cache_get(cache, (void *)va, big.size, &e, NULL), "a get of unmapped memory succeeded");
	OK(cuMemAddressFree(va, big.size));
	pp_cache_destroy(cache);
}

/* ---- contexts ---------------------------------------------------------------------------------- */

/* Query, export and hit memory at @p, and see its free, with any current context. */
static void is_cached(CUdeviceptr p, int gpu, uint32_t watch)
{
	struct pp_cache *cache = cache_of(watch);
	const struct pp_cache_entry *e, *again;
	struct pp_mem mem;
	int ret;

	EXPECT(cache, "no cache");
	OK(pp_query((void *)p, &mem));
	EXPECT(mem.kind == PP_MEM_GPU && mem.device == gpu && mem.base == p && mem.rdma, "kind %d on GPU %d", mem.kind,
	       mem.device);
	ret = pp_cache_get(cache, (void *)p, big.size, &e, NULL);
	EXPECT(!ret, "get: %d", ret);
	CHECK_CASE();
	IS(pp_cache_get(cache, (void *)p, big.size, &again, NULL), 0);
	EXPECT(again == e, "the second get was no hit");
	pp_cache_put(cache, again);
	pp_cache_put(cache, e);
	OK(cuMemFree(p));
	EXPECT(pp_cache_get(cache, (void *)p, big.size, &e, NULL), "a get of freed memory succeeded");
	pp_cache_destroy(cache);
}

static void is_cached_without_a_context(uint32_t watch)
{
	CUcontext ctx;
	CUdeviceptr p;

	OK(cuCtxGetCurrent(&ctx));
	OK(cuMemAlloc(&p, big.size));
	OK(cuCtxSetCurrent(NULL));
	is_cached(p, 0, watch);
	OK(cuCtxSetCurrent(ctx));
}

/* A progress thread of a library has no context. */
CASE(hook_works_without_a_context)
{
	is_cached_without_a_context(PP_WATCH_HOOK);
}

CASE(tag_works_without_a_context)
{
	is_cached_without_a_context(PP_WATCH_TAG);
}

static void count(void *arg, uint64_t addr, uint64_t length)
{
	(void)addr, (void)length;
	++*(int *)arg;
}

/* Mapped memory has no context. So the export retains the GPU's primary context, and its release frees nothing. */
CASE(mapped_memory_needs_no_context)
{
	struct pp_cache *cache = cache_of(PP_WATCH_HOOK);
	const struct pp_cache_entry *e = NULL, *again = NULL;
	struct pp_dmabuf d = { .fd = -1 };
	static int told;
	int ret, exported;
	CUdeviceptr va;
	CUcontext ctx;

	EXPECT(cache, "no cache");
	OK(map_memory(&va));
	OK(pp_hook_add(count, &told));
	OK(cuCtxGetCurrent(&ctx));
	OK(cuCtxSetCurrent(NULL));
	ret = pp_cache_get(cache, (void *)va, big.size, &e, NULL) ?:
	      pp_cache_get(cache, (void *)va, big.size, &again, NULL);
	exported = pp_dmabuf_export((void *)va, big.size, &d, NULL);
	OK(cuCtxSetCurrent(ctx));
	EXPECT(!ret && again == e, "%d, %s", ret, again == e ? "a hit" : "no hit");
	EXPECT(!exported, "export without a context: %d", exported);
	EXPECT(!told, "the hook reported %d frees before the unmap", told);
	close(d.fd);
	pp_cache_put(cache, again);
	pp_cache_put(cache, e);
	OK(cuMemUnmap(va, big.size));
	EXPECT(told == 1, "the hook reported %d frees after the unmap, not 1", told);
	OK(pp_hook_remove(count, &told));
	OK(cuMemAddressFree(va, big.size));
	pp_cache_destroy(cache);
}

static void is_cached_of_another_gpu(uint32_t watch)
{
	CUcontext ctx;
	CUdeviceptr p;
	int gpus;

	OK(cuDeviceGetCount(&gpus));
	if (gpus < 2)
		SKIP("one GPU only");
	OK(cuCtxGetCurrent(&ctx));
	EXPECT(cu_start(1), "no context");
	OK(cuMemAlloc(&p, big.size));
	OK(cuCtxSetCurrent(ctx));
	is_cached(p, 1, watch);
	OK(cuDevicePrimaryCtxRelease(1));
}

CASE(hook_works_on_another_gpu)
{
	is_cached_of_another_gpu(PP_WATCH_HOOK);
}

CASE(tag_works_on_another_gpu)
{
	is_cached_of_another_gpu(PP_WATCH_TAG);
}

/* ---- against a thread that frees -------------------------------------------------------------- */

static void never_stale(uint32_t watch, const struct memory *memory)
{
	struct pp_cache *cache = cache_of(watch);
	struct race r;

	EXPECT(cache, "no cache");
	race(&r, cache, NULL, memory, ROUNDS_AT_LEAST, MS);
	CHECK_CASE();
	race_expect_fresh(&r);
}

/* Race with memory that shares its block with other allocations. */
static void never_stale_of_a_part(uint32_t watch, const struct memory *memory)
{
	if (!cu_emulated())
		SKIP("the driver crashes when it is asked for a part of a block that another thread frees");
	never_stale(watch, memory);
}

CASE(dmabuf_hook_gives_no_stale_hit)
{
	never_stale(PP_WATCH_HOOK, &big);
}

CASE(dmabuf_hook_is_fresh_when_small)
{
	never_stale_of_a_part(PP_WATCH_HOOK, &small);
}

CASE(dmabuf_hook_is_fresh_for_pools)
{
	never_stale_of_a_part(PP_WATCH_HOOK, &pooled);
}

CASE(dmabuf_tag_gives_no_stale_hit)
{
	never_stale(PP_WATCH_TAG, &big);
}

CASE(dmabuf_tag_is_fresh_when_small)
{
	never_stale_of_a_part(PP_WATCH_TAG, &small);
}

CASE(dmabuf_tag_is_fresh_for_pools)
{
	never_stale_of_a_part(PP_WATCH_TAG, &pooled);
}

CASE(unwatched_dmabuf_is_stale_for_pool)
{
	struct pp_cache *cache = cache_of(PP_WATCH_NONE);
	struct race r;

	if (!cu_emulated())
		SKIP("the driver crashes when it is asked for a part of a block that another thread frees");
	EXPECT(cache, "no cache");
	race(&r, cache, NULL, &pooled, ROUNDS_AT_LEAST, MS);
	CHECK_CASE();
	EXPECT(r.stale, "none of %lu gets was stale in %lu rounds", r.judged, r.rounds);
}

VMTEST_MAIN
