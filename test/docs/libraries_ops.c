// SPDX-License-Identifier: MIT
// links with: -lpeerpin-hook
#include "libraries.h"

struct adapter {
	int registered;
};

static void *adapter_register(struct adapter *adapter, void *at, uint64_t length)
{
	return length && ++adapter->registered < 3 ? at : NULL;
}

static void adapter_forget(struct adapter *adapter, void *reg)
{
	if (reg)
		adapter->registered -= 2;
}

int make_cache(struct adapter *adapter, struct pp_cache **out);

BLOCK

static int late;

/* Called by the hook before the free: the memory still exists, but a get must fail. */
static void get_late(void *arg, uint64_t addr, uint64_t length)
{
	const struct pp_cache_entry *entry;

	(void)arg;
	late = pp_cache_get(cache, (void *)addr, length, &entry, NULL);
}

static int what_goes_is_refused(void)
{
	void *at = gpu_memory(4 << 20);

	if (!at || pp_hook_add(get_late, NULL))
		return 0;
	cuMemFree((CUdeviceptr)at);
	return late == -ESTALE;
}

/* The adapter takes two registrations: the third needs the eviction of an idle one. */
int main(void)
{
	const struct pp_cache_entry *entry;
	struct adapter adapter = {};
	static char memory[3 << 16];
	int i;

	if (start() || make_cache(&adapter, &cache) || !what_goes_is_refused())
		return 1;
	for (i = 0; i < 3; i++) {
		if (pp_cache_get(cache, memory + (i << 16), 100, &entry, NULL))
			return 1;
		pp_cache_put(cache, entry);
	}
	return 0;
}
