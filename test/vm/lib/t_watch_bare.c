// SPDX-License-Identifier: MIT
/* Caches in a process without libpeerpin-hook.so. */
#include <peerpin.h>
#include "watch.h"

enum { MS = 700 };

static const struct pp_cache_attr hook = { .watch = PP_WATCH_HOOK };
static struct pp_ctx *pins;

SETUP(gpu_and_pins_are_there)
{
	EXPECT(cu_start(0), "no GPU");
	EXPECT(!pp_open(&pins), "insmod peerpin.ko");
	EXPECT(!view_catch(), "signals");
}

CASE(hook_watch_is_unsupported)
{
	struct pp_cache *cache;

	IS(pp_cache_create_ctx(pins, &hook, &cache), -EOPNOTSUPP);
	IS(pp_cache_create_dmabuf(&hook, &cache), -EOPNOTSUPP);
}

static void best_of_pins(uint32_t pin_flags, const struct memory *memory)
{
	const struct pp_cache_attr attr = { .pin_flags = pin_flags };
	struct pp_cache *cache = NULL;
	struct race r;

	OK(pp_cache_create_ctx(pins, &attr, &cache));
	race(&r, cache, pins, memory, ROUNDS_AT_LEAST, MS);
	CHECK_CASE();
	race_expect_fresh(&r);
}

CASE(bare_best_gives_no_stale_hit)
{
	best_of_pins(0, &big);
}

CASE(bare_best_is_fresh_when_small)
{
	best_of_pins(0, &small);
}

/* A free does not revoke these pins. */
CASE(bare_best_judges_persistent_pins)
{
	best_of_pins(PEERPIN_PIN_PERSISTENT, &big);
}

CASE(best_dmabuf_is_fresh_for_pools)
{
	struct pp_cache *cache = NULL;
	struct race r;

	OK(pp_cache_create_dmabuf(NULL, &cache));
	race(&r, cache, NULL, &pooled, ROUNDS_AT_LEAST, MS);
	CHECK_CASE();
	race_expect_fresh(&r);
}

VMTEST_MAIN
