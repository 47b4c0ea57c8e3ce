// SPDX-License-Identifier: MIT
/* The cost that libpeerpin-hook.so adds to cuMemFree() */
#include "h200.h"

static void nothing(void *arg)
{
	(void)arg;
	for (unsigned int i = 0; i < CALLS; i++)
		NEED(cuMemFree(0));
}

/* Prints one number, to compare processes with and without the hook. cuMemFree(0) is the fastest call. */
void part_free_nothing(void)
{
	printf("%.2f\n", each(nothing, NULL) / 1e3);
}

static uint64_t time_free(void)
{
	CUdeviceptr p = allocate(2 * MIB);
	uint64_t start = now_ns();

	NEED(cuMemFree(p));
	return now_ns() - start;
}

/* A free with a subscriber (a cache), and without, in turns */
void part_free_told(void)
{
	enum { SAMPLES = 501 };
	uint64_t told[SAMPLES], untold[SAMPLES], a, b;
	struct pp_cache *cache;

	for (unsigned int i = 0; i < SAMPLES; i++) {
		untold[i] = time_free();
		cache = dmabuf_cache(PP_WATCH_HOOK);
		told[i] = time_free();
		pp_cache_destroy(cache);
	}
	a = bench_median(untold, SAMPLES);
	b = bench_median(told, SAMPLES);
	printf("`cuMemFree()` of 2 MiB, median of %d: %.1f us without a subscriber, %.1f us with a subscribed cache.\n",
	       SAMPLES, a / 1e3, b / 1e3);
}
