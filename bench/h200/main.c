// SPDX-License-Identifier: MIT
/* h200 PART...: print sections of the report of bench/h200.sh */
#include "h200.h"

static const struct {
	const char *name;
	void (*run)(void);
} parts[] = {
	{ "about", part_about },
	{ "query", part_query },
	{ "hit", part_hit },
	{ "pin", part_pin },
	{ "sync_memops", part_sync_memops },
	{ "bar1", part_bar1 },
	{ "flush", part_flush },
	{ "free_nothing", part_free_nothing },
	{ "free_told", part_free_told },
};

void fail(int result, const char *what)
{
	printf("\nIt ended here: `%s` gave %d.\n", what, result);
	exit(1);
}

uint64_t each(void (*fn)(void *arg), void *arg)
{
	uint64_t took[ROUNDS], start;

	fn(arg);
	for (unsigned int i = 0; i < ROUNDS; i++) {
		start = now_ns();
		fn(arg);
		took[i] = (now_ns() - start) * 1000 / CALLS;
	}
	return bench_median(took, ROUNDS);
}

void row(const char *what, uint64_t ps)
{
	printf("| %s | %.1f ns |\n", what, ps / 1e3);
}

const char *size_name(size_t bytes)
{
	static char name[32];

	if (bytes >= GIB)
		snprintf(name, sizeof(name), "%zu GiB", bytes / GIB);
	else if (bytes >= MIB)
		snprintf(name, sizeof(name), "%zu MiB", bytes / MIB);
	else
		snprintf(name, sizeof(name), "%zu KiB", bytes / KIB);
	return name;
}

CUdeviceptr allocate(size_t bytes)
{
	CUdeviceptr p;

	NEED(cuMemAlloc(&p, bytes));
	return p;
}

struct pp_cache *dmabuf_cache(uint32_t watch)
{
	const struct pp_cache_attr attr = { .watch = watch };
	struct pp_cache *cache;

	NEED(pp_cache_create_dmabuf(&attr, &cache));
	return cache;
}

void get_and_put(void *arg)
{
	struct hot *h = arg;
	const struct pp_cache_entry *e;

	for (unsigned int i = 0; i < CALLS; i++) {
		NEED(pp_cache_get(h->cache, h->at, h->length, &e, NULL));
		pp_cache_put(h->cache, e);
	}
}

static void start(void)
{
	CUcontext ctx;

	NEED(cuInit(0));
	NEED(cuDevicePrimaryCtxRetain(&ctx, 0));
	NEED(cuCtxSetCurrent(ctx));
}

static int run(const char *name)
{
	for (unsigned int i = 0; i < N(parts); i++)
		if (!strcmp(parts[i].name, name))
			return parts[i].run(), 0;
	fprintf(stderr, "h200: no part '%s'; type: sh bench/h200.sh\n", name);
	return 2;
}

int main(int argc, char **argv)
{
	int ret = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	start();
	for (int i = 1; i < argc && !ret; i++)
		ret = run(argv[i]);
	return ret;
}
