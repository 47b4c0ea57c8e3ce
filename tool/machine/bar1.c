// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdbool.h>
#include "bar1.h"

enum {
	GPU_PAGE = 65536,
	MAX_LOST = 4,
};

static bool is_end(int error)
{
	return error == -ENODEV || error == -ENOENT;
}

/*
 * If a GPU has fallen off the bus, try the next GPU. If the first MAX_LOST GPUs do not answer, stop: NVML itself fails,
 * and each call would be slow.
 */
unsigned int bar1_find(struct pp_bar1 *out, unsigned int *index, unsigned int room, int *error)
{
	unsigned int count = 0, i;
	int ret = 0;

	*error = 0;
	for (i = 0; i < room && !is_end(ret) && (count || i < MAX_LOST); i++) {
		ret = pp_bar1(i, &out[count]);
		if (!ret)
			index[count++] = i;
		else if (!*error && !(count && is_end(ret)))
			*error = ret;
	}
	return count;
}

uint64_t bar1_fits(const struct pp_bar1 *bar1, uint64_t reserve)
{
	uint64_t free = bar1->used < bar1->total ? bar1->total - bar1->used : 0;

	return free > reserve ? (free - reserve) / GPU_PAGE * GPU_PAGE : 0;
}
