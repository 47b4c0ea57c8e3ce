// SPDX-License-Identifier: MIT
/*
 * Bandwidth of the copy methods of libgdrapi on a mapping of GPU memory, compared with memcpy(). On
 * a real GPU the methods must be faster. On an emulated CPU all memory has the same type, so the
 * figures show only the cost of the instructions.
 */
#include <copy.h>
#include <cuda.h>
#include <gdrapi.h>
#include "bench.h"

enum {
	MOST = 4 << 20,
	SLOW_FROM = 1024,
	ROUNDS = 15,
	WAYS_MAX = 8,
	BATCH_BYTES = 256 << 10,	/* measure small copies in batches */
};

static const size_t sizes[] = { 4, 64, 1024, 16 << 10, 256 << 10, MOST };
static const char *const size_names[] = { "4 B", "64 B", "1 KiB", "16 KiB", "256 KiB", "4 MiB" };
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
	is_emulated = bench_is_emulated();
	bench_need(!cuInit(0) && !cuDevicePrimaryCtxRetain(&ctx, 0) && !cuCtxSetCurrent(ctx), "CUDA", ENODEV);
	map = gpu_memory(g);
	host = aligned_alloc(4096, MOST);
	EXPECT(host, "no memory");
	memset(host, 0x5A, MOST);
	if (is_emulated)
		puts("an emulated GPU: no memory is slow here");
}

/* ---- copy methods ----------------------------------------------------------------- */

/* @s: the method; NULL: memcpy(), with a fence that flushes its writes from the CPU */
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

/* Picoseconds per copy */
static uint64_t measure(void (*copy)(const struct stream *, size_t), const struct stream *s, size_t n)
{
	unsigned int k, batch = n < BATCH_BYTES ? BATCH_BYTES / n : 1;
	uint64_t start;

	batch = batch > 1000 ? 1000 : batch;
	copy(s, n);
	start = now_ns();
	for (k = 0; k < batch; k++)
		copy(s, n);
	return (now_ns() - start) * 1000 / batch;
}

/* Find all methods that this CPU supports; memcpy() comes first. Returns their number. */
static unsigned int find_ways(const struct stream *ways[WAYS_MAX])
{
	const struct stream *s;
	unsigned int count = 1;

	ways[0] = NULL;
	for (s = gdr_streams; s->name; s++) {
		bench_need(count < WAYS_MAX, "too many ways", E2BIG);
		if (s->usable())
			ways[count++] = s;
	}
	return count;
}

/**
 * struct direction - to or from the GPU
 * @times: bound relative to memcpy(), on slow memory, for SLOW_FROM bytes and more
 * @plain: picoseconds of memcpy(), by size
 * @best: picoseconds of the method that libgdrapi chooses on this CPU, by size
 */
static struct direction {
	const char *what;
	void (*copy)(const struct stream *, size_t);
	double times;
	struct figure figure;
	uint64_t plain[N(sizes)];
	uint64_t best[N(sizes)];
} writes = {
	"write", copy_to, 1.1, { "map-write", "The CPU writes GPU memory by a mapping", "size", "bytes" }, { 0 }, { 0 },
}, reads = {
	"read", copy_from, 0.5, { "map-read", "The CPU reads GPU memory by a mapping", "size", "bytes" }, { 0 }, { 0 },
};

static void conclude(struct direction *d, unsigned int size, const struct stream *s, uint64_t ps)
{
	printf("  %-8s %10.1f ns %9.1f MB/s\n", s ? s->name : "memcpy", ps / 1e3, sizes[size] * 1e6 / (ps + 1));
	if (!s)
		d->plain[size] = ps;
	else if (s == gdr_stream_best())
		d->best[size] = ps;
}

static void compare(struct direction *d, unsigned int size)
{
	static uint64_t took[WAYS_MAX][ROUNDS];
	const struct stream *ways[WAYS_MAX];
	unsigned int count = find_ways(ways), i, w;

	printf("%s of %s\n", d->what, size_names[size]);
	for (i = 0; i < ROUNDS; i++)
		for (w = 0; w < count; w++)
			took[w][i] = measure(d->copy, ways[w], sizes[size]);
	for (w = 0; w < count; w++)
		conclude(d, size, ways[w], bench_median(took[w], ROUNDS));
}

static void draw(const struct direction *d)
{
	unsigned int i;

	figure(&d->figure);
	for (i = 0; i < N(sizes); i++)
		point(&d->figure, "libgdrapi", sizes[i], d->best[i] / 1e3);
	for (i = 0; i < N(sizes); i++)
		point(&d->figure, "memcpy()", sizes[i], d->plain[i] / 1e3);
}

static void compare_all(struct direction *d)
{
	unsigned int i;
	char what[64];

	for (i = 0; i < N(sizes); i++)
		compare(d, i);
	draw(d);
	snprintf(what, sizeof(what), "%s of a GPU mapping by libgdrapi", d->what);
	for (i = 0; i < N(sizes); i++)
		if (sizes[i] >= SLOW_FROM)
			CLAIM(.what = what, .of = size_names[i], .ours = d->best[i] / 1e3, .beside = "memcpy()",
			      .theirs = d->plain[i] / 1e3, .times = is_emulated ? 0 : d->times);
}

CASE(the_cpu_writes)
{
	compare_all(&writes);
}

CASE(the_cpu_reads)
{
	compare_all(&reads);
}

VMTEST_MAIN
