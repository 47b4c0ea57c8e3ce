// SPDX-License-Identifier: MIT
/*
 * Time of a copy between two surfaces of a GPU by the DMA of a peer device. Three figures: the first
 * copy, which pins and maps both surfaces; copies with cached registrations; the time in which the
 * engine runs.
 */
#include <cuda.h>
#include <libpeerpin.h>
#include "bench.h"

enum {
	ROUNDS = 41,
	MOST = 64 << 20,
};

static const uint64_t sizes[] = { 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20, MOST };
static const struct figure by_size = { "transfer", "Copy between GPU surfaces by a peer's DMA", "size", "bytes" };

static struct pp_cache *cache;
static struct pp_peer *peer;

enum how { CACHED, FIRST, ENGINE, HOWS };

static const char *const how_names[HOWS] = {
	[CACHED] = "registered before",
	[FIRST] = "first transfer",
	[ENGINE] = "the peer's engine",
};

static uint64_t medians[N(sizes)][HOWS];

/* Each size has its own surfaces: a miss registers the whole allocation. */
static CUdeviceptr surface(uint64_t length)
{
	CUdeviceptr p;

	bench_need(!cuMemAlloc(&p, length), "cuMemAlloc", ENOMEM);
	return p;
}

static struct pp_copy_result copy(CUdeviceptr dst, CUdeviceptr src, uint64_t length, unsigned int pins)
{
	struct pp_copy_result r;
	int ret = pp_peer_copy(peer, (void *)(uintptr_t)dst, (void *)(uintptr_t)src, length, &r);

	bench_need(!ret, "pp_peer_copy", ret);
	bench_need(r.pins == pins, "unexpected number of pins", EIO);
	return r;
}

static void measure(unsigned int size)
{
	CUdeviceptr dst = surface(sizes[size]), src = surface(sizes[size]);
	static uint64_t ns[HOWS][ROUNDS];
	struct pp_copy_result r;
	unsigned int i;

	for (i = 0; i < ROUNDS; i++) {
		pp_cache_flush(cache);
		ns[FIRST][i] = copy(dst, src, sizes[size], 2).total_ns;
		r = copy(dst, src, sizes[size], 0);
		ns[CACHED][i] = r.total_ns;
		ns[ENGINE][i] = r.engine_ns;
	}
	for (enum how h = 0; h < HOWS; h++)
		medians[size][h] = bench_median(ns[h], ROUNDS);
	pp_cache_flush(cache);
	bench_need(!cuMemFree(dst) && !cuMemFree(src), "cuMemFree", EINVAL);
}

CASE(there_is_a_peer)
{
	struct pp_ctx *ctx;
	CUcontext context;
	int ret;

	bench_need(!cuInit(0) && !cuDevicePrimaryCtxRetain(&context, 0) && !cuCtxSetCurrent(context), "CUDA", ENODEV);
	ret = pp_open(&ctx) ?: pp_cache_create_ctx(ctx, NULL, &cache);
	bench_need(!ret, "/dev/peerpin", ret);
	ret = pp_peer_open("lsi0", cache, &peer);
	bench_need(!ret, "lsi0", ret);
}

CASE(copies_by_size)
{
	unsigned int i;

	for (i = 0; i < N(sizes); i++)
		measure(i);
	figure(&by_size);
	for (enum how h = 0; h < HOWS; h++)
		for (i = 0; i < N(sizes); i++)
			point(&by_size, how_names[h], sizes[i], medians[i][h]);
}

static void claim_cached(unsigned int size, const char *of, enum how beside, double times)
{
	CLAIM(.what = "copy by a peer, registered before", .of = of, .ours = medians[size][CACHED],
	      .beside = how_names[beside], .theirs = medians[size][beside], .times = times);
}

CASE(a_small_copy)
{
	claim_cached(0, "4 KiB", FIRST, 0.5);
	claim_cached(0, "4 KiB", ENGINE, 0);
}

CASE(a_big_copy)
{
	claim_cached(N(sizes) - 1, "64 MiB", FIRST, 0);
	claim_cached(N(sizes) - 1, "64 MiB", ENGINE, 1.1);
}

VMTEST_MAIN
