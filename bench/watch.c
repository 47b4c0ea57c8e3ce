// SPDX-License-Identifier: MIT
/*
 * The cost of a hit, by the method that detects freed memory. Methods: one load of the revocation
 * page; a query of CUDA's BUFFER_ID on each hit, which needs no kernel module; no watch, with which a
 * hit loads a constant word. The contenders take turns. The emulated libcuda answers from memory of
 * this process; doc/h200.md has figures of NVIDIA's libcuda on an H200.
 */
#include <cuda.h>
#include <libpeerpin.h>
#include "bench.h"

enum {
	ROUNDS = 51,
	HITS = 2000,
	LENGTH = 2 << 20,	/* a whole block, because allocations that share a block always need the id */
	MOST = 100,
};

static const unsigned int counts[] = { 1, 10, MOST };
static const struct figure by_count = {
	"watch", "A hit, by how the cache learns of freed memory", "allocations registered", "count",
};

static CUdeviceptr memory[MOST];
static unsigned int picked[HITS];

enum watch { PAGE, ID, NOTHING, WATCHES };

static struct contender {
	const char *name;
	uint32_t watch;
	struct pp_cache *cache;
	double ns[N(counts)];
} contenders[WATCHES] = {
	[PAGE] = { .name = "revocation page", .watch = PP_WATCH_EPOCH },
	[ID] = { .name = "BUFFER_ID", .watch = PP_WATCH_TAG },
	[NOTHING] = { .name = "one word for all", .watch = PP_WATCH_NONE },
};

static void hit(struct pp_cache *cache, unsigned int i)
{
	const struct pp_cache_entry *e;
	int ret;

	ret = pp_cache_get(cache, (void *)(uintptr_t)memory[i], LENGTH, &e, NULL);
	bench_need(!ret, "pp_cache_get", ret);
	pp_cache_put(cache, e);
}

/* Picoseconds per hit */
static uint64_t hit_picked(const struct contender *c)
{
	uint64_t start = now_ns();

	for (unsigned int i = 0; i < HITS; i++)
		hit(c->cache, picked[i]);
	return (now_ns() - start) * 1000 / HITS;
}

static void pick(unsigned int count)
{
	for (unsigned int i = 0; i < HITS; i++)
		picked[i] = random() % count;
}

static void measure(unsigned int which)
{
	static uint64_t ps[WATCHES][ROUNDS];
	enum watch w;

	for (unsigned int i = 0; i < ROUNDS; i++) {
		pick(counts[which]);
		for (w = 0; w < WATCHES; w++)
			ps[w][i] = hit_picked(&contenders[w]);
	}
	for (w = 0; w < WATCHES; w++)
		contenders[w].ns[which] = bench_median(ps[w], ROUNDS) / 1e3;
}

static void register_all(struct contender *c, struct pp_ctx *ctx)
{
	const struct pp_cache_attr attr = { .watch = c->watch };
	int ret = pp_cache_create_ctx(ctx, &attr, &c->cache);

	bench_need(!ret, "pp_cache_create_ctx", ret);
	for (unsigned int i = 0; i < MOST; i++)
		hit(c->cache, i);
}

CASE(memory_is_registered)
{
	struct pp_ctx *ctx;
	CUcontext context;
	int ret;

	bench_need(!cuInit(0) && !cuDevicePrimaryCtxRetain(&context, 0) && !cuCtxSetCurrent(context), "CUDA", ENODEV);
	for (unsigned int i = 0; i < MOST; i++)
		bench_need(!cuMemAlloc(&memory[i], LENGTH), "cuMemAlloc", ENOMEM);
	ret = pp_open(&ctx);
	bench_need(!ret, "/dev/peerpin", ret);
	for (enum watch w = 0; w < WATCHES; w++)
		register_all(&contenders[w], ctx);
}

static void draw(const struct contender *c)
{
	for (unsigned int i = 0; i < N(counts); i++)
		point(&by_count, c->name, counts[i], c->ns[i]);
}

static void claim_hit(unsigned int which, const char *of)
{
	CLAIM(.what = "cache hit checked by the revocation page", .of = of, .ours = contenders[PAGE].ns[which],
	      .beside = "by BUFFER_ID", .theirs = contenders[ID].ns[which], .times = 0.5);
}

CASE(hits)
{
	struct pp_cache_stats s;

	for (unsigned int i = 0; i < N(counts); i++)
		measure(i);
	figure(&by_count);
	for (enum watch w = 0; w < WATCHES; w++) {
		draw(&contenders[w]);
		pp_cache_stats(contenders[w].cache, &s);
		EXPECT(s.misses == MOST, "%lu misses", s.misses);
	}
	claim_hit(0, "1 allocation");
	claim_hit(N(counts) - 1, "100 allocations");
}

VMTEST_MAIN
