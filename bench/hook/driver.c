// SPDX-License-Identifier: MIT
/* A libcuda with one empty function, also under a name that the hook does not intercept */
#include <stdint.h>

int cuMemFree_v2(uint64_t addr);
int bench_free(uint64_t addr) __attribute__((alias("cuMemFree_v2")));

int cuMemFree_v2(uint64_t addr)
{
	return addr == 0;
}
