// SPDX-License-Identifier: MIT
/* The cost of finding the allocation of an address, and of checking that a registration is valid */
#include "h200.h"

static void ask(void *addr)
{
	struct pp_mem mem;

	for (unsigned int i = 0; i < CALLS; i++)
		NEED(pp_query(addr, &mem));
}

static void ask_id(void *addr)
{
	unsigned long long id;

	for (unsigned int i = 0; i < CALLS; i++)
		NEED(cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, (CUdeviceptr)addr));
}

static uint64_t hit_of(uint32_t watch, void *at, size_t length)
{
	struct hot hot = { dmabuf_cache(watch), at, length };
	uint64_t ps = each(get_and_put, &hot);

	pp_cache_destroy(hot.cache);
	return ps;
}

void part_query(void)
{
	CUdeviceptr p = allocate(2 * MIB);
	static char host[64];

	printf("| | median of %d x %d |\n| --- | ---: |\n", ROUNDS, CALLS);
	row("`pp_query()` of GPU memory", each(ask, (void *)(p + 4096)));
	row("`pp_query()` of host memory", each(ask, host));
	row("CUDA's buffer id alone", each(ask_id, (void *)(p + 4096)));
	row("of a registered address: get + put, no CUDA call", hit_of(PP_WATCH_NONE, (void *)(p + 4096), 4096));
}

/* The cost that each method of detection adds to a hit */
void part_hit(void)
{
	void *p = (void *)allocate(2 * MIB);
	uint64_t none = hit_of(PP_WATCH_NONE, p, 2 * MIB), hook = hit_of(PP_WATCH_HOOK, p, 2 * MIB);
	uint64_t tag = hit_of(PP_WATCH_TAG, p, 2 * MIB);

	printf("| get + put of a registered range | median of %d x %d |\n| --- | ---: |\n", ROUNDS, CALLS);
	row("`none`", none);
	row("`hook`", hook);
	row("`tag`", tag);
	printf("\nThe check of the tag adds %.1f ns to a hit, the hook adds %.1f ns.\n", (double)(int64_t)(tag - none) / 1e3,
	       (double)(int64_t)(hook - none) / 1e3);
}
