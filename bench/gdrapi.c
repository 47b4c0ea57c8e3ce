// SPDX-License-Identifier: MIT
/*
 * What libgdrapi's ways to copy make of a GPU's memory, beside memcpy(). On a
 * real GPU that has to be worth it. An emulated processor knows no difference
 * between kinds of memory: there the figures are what the instructions take.
 */
#include <copy.h>
#include <cuda.h>
#include <gdrapi.h>
#include "bench.h"

enum {
	MOST = 4 << 20,
	ROUNDS = 15,
	BATCH_BYTES = 256 << 10,	/* small copies are measured many at once */
};

static const size_t sizes[] = { 8, 64, 1024, 16 << 10, 256 << 10, MOST };
static unsigned char *map, *host;
static bool is_emulated;

/* ---- memory ----------------------------------------------------------------------- */

static void *gpu_memory(gdr_t g)
{
	CUdeviceptr gpu;
	gdr_mh_t mh;
	void *view;
	int ret;

	bench_need(!cuMemAlloc(&gpu, MOST), "cuMemAlloc", ENOMEM);
	ret = gdr_pin_buffer(g, gpu, MOST, 0, 0, &mh);
	bench_need(!ret, "gdr_pin_buffer", ret);
	ret = gdr_map_v2(g, mh, &view, MOST, GDR_MAP_FLAG_REQ_WC_MAPPING);
	bench_need(!ret, "gdr_map_v2", ret);
	return view;
}

CASE(memory)
{
	gdr_t g = gdr_open();
	CUcontext ctx;

	bench_need(!!g, "gdr_open", errno);
	is_emulated = !access("/dev/emugpu", F_OK);
	bench_need(!cuInit(0) && !cuDevicePrimaryCtxRetain(&ctx, 0) && !cuCtxSetCurrent(ctx), "CUDA", ENODEV);
	map = gpu_memory(g);
	host = aligned_alloc(4096, MOST);
	EXPECT(host, "no memory");
	memset(host, 0x5A, MOST);
	if (is_emulated)
		puts("an emulated GPU: no memory is slow here");
}

/* ---- ways ------------------------------------------------------------------------- */

/* NULL is memcpy(), with the fence that makes what it wrote leave the CPU. */
static void copy_to(const struct stream *s, size_t n)
{
	if (s) {
		gdr_stream_to(s, map, host, n);
		return;
	}
	memcpy(map, host, n);
	stream_stored();
}

static void copy_from(const struct stream *s, size_t n)
{
	if (s)
		gdr_stream_from(s, host, map, n);
	else
		memcpy(host, map, n);
}

/* Picoseconds a copy */
static uint64_t measure(void (*copy)(const struct stream *, size_t), const struct stream *s, size_t n)
{
	unsigned int i, k, batch = n < BATCH_BYTES ? BATCH_BYTES / n : 1;
	uint64_t took[ROUNDS], start;

	batch = batch > 1000 ? 1000 : batch;
	copy(s, n);
	for (i = 0; i < ROUNDS; i++) {
		start = now_ns();
		for (k = 0; k < batch; k++)
			copy(s, n);
		took[i] = (now_ns() - start) * 1000 / batch;
	}
	return bench_median(took, ROUNDS);
}

static uint64_t measure_and_say(void (*copy)(const struct stream *, size_t), const struct stream *s, size_t n)
{
	uint64_t ps = measure(copy, s, n);

	printf("  %-8s %10.1f ns %9.1f MB/s\n", s ? s->name : "memcpy", ps / 1e3, n * 1e6 / (ps + 1));
	return ps;
}

/* How many times as long memcpy() takes as the way that libgdrapi takes here */
static double compare(const char *what, void (*copy)(const struct stream *, size_t), size_t n)
{
	const struct stream *s;
	uint64_t plain, best = 1, ps;

	printf("%s of %zu bytes\n", what, n);
	plain = measure_and_say(copy, NULL, n);
	for (s = gdr_streams; s->name; s++) {
		if (!s->usable())
			continue;
		ps = measure_and_say(copy, s, n);
		if (s == gdr_stream_best())
			best = ps + 1;
	}
	return (double)plain / best;
}

CASE(writes)
{
	unsigned int i;
	double times;

	for (i = 0; i < N(sizes); i++) {
		times = compare("write", copy_to, sizes[i]);
		EXPECT(is_emulated || sizes[i] < 1024 || times > 0.9, "%zu bytes: memcpy() takes %.2f times as long",
		       sizes[i], times);
	}
}

CASE(reads)
{
	unsigned int i;
	double times;

	for (i = 0; i < N(sizes); i++) {
		times = compare("read", copy_from, sizes[i]);
		EXPECT(is_emulated || sizes[i] < 1024 || times > 2, "%zu bytes: memcpy() takes %.2f times as long",
		       sizes[i], times);
	}
}

VMTEST_MAIN
