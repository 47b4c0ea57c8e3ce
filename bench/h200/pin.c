// SPDX-License-Identifier: MIT
/* The cost of a registration in time and BAR1 space */
#include "h200.h"

enum { SAMPLES = 101, LEAST = 5 };

#define BUDGET_NS 500000000ull	/* for each size */

/** struct timing - results for one size; medians in nanoseconds */
struct timing {
	uint64_t export, close, miss, unpin, hit_ps;
	unsigned int samples;
};

static int export(CUdeviceptr p, size_t size)
{
	int fd = -1;

	NEED(cuMemGetHandleForAddressRange(&fd, p, size, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0));
	return fd;
}

static void time_bare(struct timing *t, CUdeviceptr p, size_t size)
{
	uint64_t out[SAMPLES], in[SAMPLES], began = now_ns(), start, middle;
	unsigned int n = 0;
	int fd;

	do {
		start = now_ns();
		fd = export(p, size);
		middle = now_ns();
		close(fd);
		out[n] = middle - start;
		in[n++] = now_ns() - middle;
	} while (n < SAMPLES && (n < LEAST || now_ns() - began < BUDGET_NS));
	t->samples = n;
	t->export = bench_median(out, n);
	t->close = bench_median(in, n);
}

static void time_cache(struct timing *t, CUdeviceptr p, size_t size)
{
	struct hot hot = { dmabuf_cache(PP_WATCH_NONE), (void *)p, size };
	uint64_t miss[SAMPLES], unpin[SAMPLES], start, middle;
	const struct pp_cache_entry *e;

	for (unsigned int i = 0; i < t->samples; i++) {
		start = now_ns();
		NEED(pp_cache_get(hot.cache, hot.at, size, &e, NULL));
		middle = now_ns();
		pp_cache_put(hot.cache, e);
		pp_cache_flush(hot.cache);
		miss[i] = middle - start;
		unpin[i] = now_ns() - middle;
	}
	t->miss = bench_median(miss, t->samples);
	t->unpin = bench_median(unpin, t->samples);
	t->hit_ps = each(get_and_put, &hot);
	pp_cache_destroy(hot.cache);
}

static void print(size_t size, const struct timing *t)
{
	printf("| %s | %.1f us | %.1f us | %.1f us | %.1f us | %.1f ns | %.0f | %u |\n", size_name(size),
	       t->export / 1e3, t->close / 1e3, t->miss / 1e3, t->unpin / 1e3, t->hit_ps / 1e3,
	       (t->export + t->close) * 1e3 / t->hit_ps, t->samples);
}

static void pin_size(size_t size)
{
	struct timing t = { 0 };
	CUdeviceptr p;
	int err = cuMemAlloc(&p, size);

	if (err) {
		printf("| %s | not measured: `cuMemAlloc()` gave %d | | | | | | |\n", size_name(size), err);
		return;
	}
	time_bare(&t, p, size);
	time_cache(&t, p, size);
	print(size, &t);
	NEED(cuMemFree(p));
}

void part_pin(void)
{
	printf("Medians. A *miss* finds the allocation, sets SYNC_MEMOPS, exports a dma-buf, and then checks that the\n"
	       "address still has this allocation. No device imports the dma-bufs, so no figure has the time to map them\n"
	       "for a device. That time would be added to each uncached pin, but to no hit.\n\n"
	       "| size | export | close | miss | put + flush | hit (get + put) | export + close : hit | samples |\n"
	       "| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n");
	for (size_t size = 64 * KIB; size <= 32 * GIB; size *= 2)
		pin_size(size);
}

/* ---- SYNC_MEMOPS ------------------------------------------------------------------------- */

static uint64_t time_sync(CUdeviceptr p)
{
	uint64_t start = now_ns();

	NEED(pp_sync_memops((void *)p));
	return now_ns() - start;
}

static void sync_size(size_t size, unsigned int n)
{
	uint64_t first[SAMPLES], later[SAMPLES];
	CUdeviceptr p[SAMPLES];

	for (unsigned int i = 0; i < n; i++)
		p[i] = allocate(size);
	for (unsigned int i = 0; i < n; i++)
		first[i] = time_sync(p[i]);
	for (unsigned int i = 0; i < n; i++)
		later[i] = time_sync(p[i]);
	printf("| %s | %lu ns | %lu ns | %u |\n", size_name(size), (unsigned long)bench_median(first, n),
	       (unsigned long)bench_median(later, n), n);
	while (n--)
		NEED(cuMemFree(p[n]));
}

void part_sync_memops(void)
{
	printf("| allocation | first call | later calls | allocations |\n| ---: | ---: | ---: | ---: |\n");
	time_sync(allocate(64 * KIB));
	sync_size(64 * KIB, SAMPLES);
	sync_size(2 * MIB, 21);
	sync_size(32 * MIB, 5);
}

/* ---- BAR1 ---------------------------------------------------------------------------------- */

static void print_bar1(const char *when)
{
	struct pp_bar1 now;

	NEED(pp_bar1(0, &now));
	printf("| %s | %lu MiB | %lu MiB |\n", when, (unsigned long)(now.used / MIB), (unsigned long)(now.free / MIB));
}

static void bar1_of(size_t size)
{
	CUdeviceptr p;
	char when[64];
	int fd, err = cuMemAlloc(&p, size);

	if (err) {
		printf("| %s | not measured: `cuMemAlloc()` gave %d | |\n", size_name(size), err);
		return;
	}
	fd = export(p, size);
	snprintf(when, sizeof(when), "with %s exported", size_name(size));
	print_bar1(when);
	close(fd);
	NEED(cuMemFree(p));
}

void part_bar1(void)
{
	printf("| | used | free |\n| --- | ---: | ---: |\n");
	print_bar1("before");
	bar1_of(64 * MIB);
	bar1_of(GIB);
	bar1_of(32 * GIB);
	print_bar1("after");
}
