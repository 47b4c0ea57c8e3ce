/* SPDX-License-Identifier: MIT */
/* Memory that the kernel uses for its own objects. */
#ifndef BENCH_KERNEL_MEMORY_H
#define BENCH_KERNEL_MEMORY_H

#include "bench.h"

/* Bytes of slabs, vmalloc(), per-processor memory and page tables */
static inline int64_t kernel_memory(void)
{
	static const char *const names[] = { "Slab:", "VmallocUsed:", "Percpu:", "PageTables:" };
	FILE *f = fopen("/proc/meminfo", "re");
	char name[32];
	int64_t kib, sum = 0;

	bench_need(!!f, "/proc/meminfo", errno);
	while (fscanf(f, "%31s %ld%*[^\n]", name, &kib) == 2)
		for (unsigned int i = 0; i < N(names); i++)
			sum += strcmp(name, names[i]) ? 0 : kib;
	fclose(f);
	return sum << 10;
}

#endif
