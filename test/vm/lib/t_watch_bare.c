// SPDX-License-Identifier: MIT
/* Caches in a process without libpeerpin-hook.so. */
#include "watch.h"

enum { MS = 700 };

static const struct pp_cache_attr hook = { .watch = PP_WATCH_HOOK };
static struct pp_ctx *pins;

SETUP(there_are_a_gpu_and_pins)
{
	EXPECT(cu_start(0), "no GPU");
	EXPECT(!pp_open(&pins), "insmod peerpin.ko");
	EXPECT(!view_catch(), "signals");
}

CASE(there_is_no_hook)
{
	struct pp_cache *cache;

	IS(pp_cache_create_ctx(pins, &hook, &cache), -EOPNOTSUPP);
	IS(pp_cache_create_dmabuf(&hook, &cache), -EOPNOTSUPP);
}

static void best_of_pins(const struct memory *memory)
{
	struct pp_cache *cache = NULL;
	struct race r;

	OK(pp_cache_create_ctx(pins, NULL, &cache));
	race(&r, cache, pins, memory, ROUNDS_AT_LEAST, MS);
	CHECK_CASE();
	race_expect_fresh(&r);
}

CASE(best)
{
	best_of_pins(&big);
}

CASE(best_of_small_memory)
{
	best_of_pins(&small);
}

CASE(best_of_dma_bufs_of_a_pool)
{
	struct pp_cache *cache = NULL;
	struct race r;

	OK(pp_cache_create_dmabuf(NULL, &cache));
	race(&r, cache, NULL, &pooled, ROUNDS_AT_LEAST, MS);
	CHECK_CASE();
	race_expect_fresh(&r);
}

VMTEST_MAIN
