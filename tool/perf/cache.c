// SPDX-License-Identifier: MIT
/* Registration by a cache: misses, for which the cache is flushed before, and hits. */
#include "memory.h"

enum registration {
	REGION_HOST,
	REGION_GPU,
	DMABUF_GPU,
};

static struct {
	struct pp_cache *cache;
	struct perf_memory memory;
} cached;

/* A cache of dma-bufs needs no module of ours. */
static int open_cache(const struct perf_args *args, long arg, struct perf_why *why)
{
	struct pp_ctx *ctx;
	int ret;

	(void)args;
	if (arg == DMABUF_GPU) {
		if (perf_need_gpu(why))
			return -1;
		ret = pp_cache_create_dmabuf(NULL, &cached.cache);
	} else {
		if (perf_need_ctx(&ctx, why))
			return -1;
		ret = pp_cache_create_ctx(ctx, NULL, &cached.cache);
	}
	return ret ? perf_refuse_call(why, "creating the cache", ret) : 0;
}

static void close_cache(long arg)
{
	(void)arg;
	pp_cache_destroy(cached.cache);
	cached.cache = NULL;
}

static int begin(uint64_t bytes, long arg, struct perf_why *why)
{
	return memory_get(&cached.memory, arg == REGION_HOST ? PERF_HOST : PERF_GPU, bytes, why);
}

static void end(long arg)
{
	(void)arg;
	pp_cache_flush(cached.cache);
	memory_put(&cached.memory);
}

static int flush(uint64_t bytes, long arg, struct perf_why *why)
{
	(void)bytes, (void)arg, (void)why;
	pp_cache_flush(cached.cache);
	return 0;
}

static int get(uint64_t bytes, long arg, struct perf_why *why)
{
	const struct pp_cache_entry *entry;
	struct pp_why reason = { 0 };
	int ret = pp_cache_get(cached.cache, memory_at(&cached.memory), bytes, &entry, &reason);

	(void)arg;
	if (ret)
		return perf_refuse_pin(why, ret, &reason);
	pp_cache_put(cached.cache, entry);
	return 0;
}

static const struct perf_calls miss_calls = {
	.open = open_cache, .begin = begin, .before = flush, .run = get, .end = end, .close = close_cache,
};

static const struct perf_calls hit_calls = {
	.open = open_cache, .begin = begin, .run = get, .end = end, .close = close_cache,
};

const struct perf_op cache_ops[] = {
	{ "miss_host", "cache", "register, host: not cached", NULL, false, &miss_calls, REGION_HOST },
	{ "hit_host", "cache", "register, host: cached", "miss_host", false, &hit_calls, REGION_HOST },
	{ "miss_gpu", "cache", "register, GPU: not cached", NULL, false, &miss_calls, REGION_GPU },
	{ "hit_gpu", "cache", "register, GPU: cached", "miss_gpu", false, &hit_calls, REGION_GPU },
	{ "miss_dmabuf", "cache", "register, GPU's dma-buf: not cached", NULL, false, &miss_calls, DMABUF_GPU },
	{ "hit_dmabuf", "cache", "register, GPU's dma-buf: cached", "miss_dmabuf", false, &hit_calls, DMABUF_GPU },
	{ 0 },
};
