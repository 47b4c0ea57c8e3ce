// SPDX-License-Identifier: MIT
// links with: -lpeerpin-hook
#include "libraries.h"

int watch(struct pp_cache *of);

BLOCK

int main(void)
{
	const struct pp_cache_entry *entry;
	struct pp_cache_stats stats;
	void *at;

	if (start() || watch(cache))
		return 1;
	at = gpu_memory(4 << 20);
	if (pp_cache_get(cache, at, 4096, &entry, NULL))
		return 1;
	pp_cache_put(cache, entry);
	cuMemFree((CUdeviceptr)at);
	pp_cache_stats(cache, &stats);
	return stats.entries != 0;
}
