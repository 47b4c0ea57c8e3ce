// SPDX-License-Identifier: MIT
/*
 * Registration caches of /dev/peerpin, with each kind of watch, while a thread frees the memory.
 * There must be no stale hit. Without a watch there must be stale hits.
 */
#include <libpeerpin-hook.h>
#include <peerpin.h>
#include "watch.h"

enum { MS = 700, MILLION = 1000000 };

static struct pp_ctx *pins;

SETUP(gpu_hook_and_pins_are_there)
{
	EXPECT(cu_start(0), "no GPU");
	EXPECT(!pp_open(&pins), "insmod peerpin.ko");
	EXPECT(!view_catch(), "signals");
}

static struct pp_cache *cache_with(uint32_t watch, uint32_t pin_flags)
{
	const struct pp_cache_attr attr = { .watch = watch, .pin_flags = pin_flags };
	struct pp_cache *cache = NULL;

	return pp_cache_create_ctx(pins, &attr, &cache) ? NULL : cache;
}

static struct pp_cache *cache_of(uint32_t watch)
{
	return cache_with(watch, 0);
}

static void against(struct race *r, struct pp_cache *cache, const struct memory *memory, unsigned long rounds)
{
	EXPECT(cache, "no cache");
	race(r, cache, pins, memory, rounds, MS);
}

static void fresh(struct pp_cache *cache, const struct memory *memory, unsigned long rounds)
{
	struct race r = { 0 };

	against(&r, cache, memory, rounds);
	CHECK_CASE();
	race_expect_fresh(&r);
}

static void never_stale(uint32_t watch, const struct memory *memory, unsigned long rounds)
{
	fresh(cache_of(watch), memory, rounds);
}

/* Without a watch there are stale hits: this proves that the other cases can fail. */
static void stale(const struct memory *memory)
{
	struct race r = { 0 };

	against(&r, cache_of(PP_WATCH_NONE), memory, ROUNDS_AT_LEAST);
	CHECK_CASE();
	EXPECT(r.stale, "none of %lu hits was stale, in %lu rounds", r.judged, r.rounds);
}

CASE(epoch_gives_no_stale_hit)
{
	never_stale(PP_WATCH_EPOCH, &big, ROUNDS_AT_LEAST);
}

CASE(epoch_is_fresh_for_small_memory)
{
	never_stale(PP_WATCH_EPOCH, &small, ROUNDS_AT_LEAST);
}

CASE(hook_gives_no_stale_hit)
{
	never_stale(PP_WATCH_HOOK, &big, ROUNDS_AT_LEAST);
}

CASE(hook_is_fresh_for_small_memory)
{
	never_stale(PP_WATCH_HOOK, &small, ROUNDS_AT_LEAST);
}

CASE(tag_gives_no_stale_hit)
{
	never_stale(PP_WATCH_TAG, &big, ROUNDS_AT_LEAST);
}

CASE(tag_is_fresh_for_small_memory)
{
	never_stale(PP_WATCH_TAG, &small, ROUNDS_AT_LEAST);
}

CASE(best_gives_no_stale_hit)
{
	never_stale(PP_WATCH_BEST, &big, ROUNDS_AT_LEAST);
}

CASE(best_is_fresh_for_small_memory)
{
	never_stale(PP_WATCH_BEST, &small, ROUNDS_AT_LEAST);
}

/* A free does not revoke these pins. t_watch_bare has the case without the hook. */
CASE(hook_judges_persistent_pins)
{
	fresh(cache_with(PP_WATCH_HOOK, PEERPIN_PIN_PERSISTENT), &big, ROUNDS_AT_LEAST);
}

CASE(no_watch_gives_stale_hits)
{
	stale(&big);
}

CASE(no_watch_is_stale_when_small)
{
	stale(&small);
}

/* ---- a get between the hook's report and the free ------------------------------------------ */

static struct {
	struct pp_cache *cache;
	CUdeviceptr addr;
	int ret;
} late;

/* The hook has already reported to the cache. The memory still exists. */
static void get_late(void *arg, uint64_t addr, uint64_t length)
{
	const struct pp_cache_entry *e;

	(void)arg;
	(void)length;
	if (addr != late.addr)
		return;
	late.ret = pp_cache_get(late.cache, (void *)addr, big.size, &e, NULL);
	if (!late.ret)
		pp_cache_put(late.cache, e);
}

CASE(late_get_is_not_cached)
{
	const struct pp_cache_entry *e;

	late.cache = cache_of(PP_WATCH_HOOK);
	EXPECT(late.cache, "no cache");
	late.ret = 1;
	OK(pp_hook_add(get_late, NULL));
	OK(cuMemAlloc(&late.addr, big.size));
	OK(pp_cache_get(late.cache, (void *)late.addr, big.size, &e, NULL));
	pp_cache_put(late.cache, e);
	OK(cuMemFree(late.addr));
	OK(pp_hook_remove(get_late, NULL));
	EXPECT(!late.ret, "%d: the hook did not report, or the get failed", late.ret);
	EXPECT(pp_cache_get(late.cache, (void *)late.addr, big.size, &e, NULL), "a hit on freed memory");
	pp_cache_destroy(late.cache);
}

/* The GPU driver does not pin pool memory. The cache must not take pool memory for host memory. */
CASE(pool_memory_is_refused)
{
	struct pp_cache *cache = cache_of(PP_WATCH_BEST);
	const struct pp_cache_entry *e;
	CUdeviceptr p;

	EXPECT(cache, "no cache");
	OK(pool_alloc(&p, pooled.size));
	IS(pp_cache_get(cache, (void *)p, pooled.size, &e, NULL), -EINVAL);
	OK(pool_free(p));
	pp_cache_destroy(cache);
}

CASE(nothing_is_left)
{
	int gpu = emu_open();

	EXPECT(!view_pins(gpu), "%u pins", view_pins(gpu));
	close(gpu);
}

CASE_BY_NAME(epoch_a_million_times)
{
	never_stale(PP_WATCH_EPOCH, &big, MILLION);
}

CASE_BY_NAME(hook_a_million_times)
{
	never_stale(PP_WATCH_HOOK, &big, MILLION);
}

CASE_BY_NAME(tag_a_million_times)
{
	never_stale(PP_WATCH_TAG, &big, MILLION);
}

VMTEST_MAIN
