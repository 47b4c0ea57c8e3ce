// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <stdio.h>
#include "bar1.h"

enum {
	GPU_PAGE = 65536,
};

/* NVIDIA's driver tells nobody; the emulated one does. */
uint64_t bar1_reserve(void)
{
	FILE *f = fopen("/sys/module/emugpu/parameters/bar1_reserve_mib", "re");
	uint32_t mib = BAR1_RESERVE_MIB;

	if (f) {
		if (fscanf(f, "%" SCNu32, &mib) != 1)
			mib = BAR1_RESERVE_MIB;
		fclose(f);
	}
	return (uint64_t)mib << 20;
}

uint64_t bar1_fits(const struct pp_bar1 *bar1, uint64_t reserve)
{
	uint64_t free = bar1->used < bar1->total ? bar1->total - bar1->used : 0;

	return free > reserve ? (free - reserve) / GPU_PAGE * GPU_PAGE : 0;
}
