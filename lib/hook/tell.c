// SPDX-License-Identifier: MIT
#include "tell.h"

#include "going.h"
#include "loader.h"
#include "subscriber.h"

#include <stdatomic.h>
#include <stddef.h>

enum {
	/* CUpointer_attribute */
	RANGE_START = 11,
	RANGE_SIZE = 12,
};

struct range {
	uint64_t start;
	size_t size;
};

/* Asks cuPointerGetAttributes(), which needs no current context and also knows registered host memory. */
static int ask(uint64_t addr, struct range *range)
{
	static _Atomic(void *) known;
	int attributes[] = { RANGE_START, RANGE_SIZE };
	void *data[] = { &range->start, &range->size };
	void *ask = atomic_load_explicit(&known, memory_order_relaxed);

	if (!ask) {
		ask = pp_loader_behind("cuPointerGetAttributes");
		if (!ask)
			return -1;
		atomic_store_explicit(&known, ask, memory_order_relaxed);
	}
	return ((int (*)(unsigned int, int *, void **, uint64_t))ask)(2, attributes, data, addr);
}

int pp_tell_range(uint64_t addr, uint64_t length)
{
	int going = pp_going_begin(addr, length);

	pp_tell(addr, length);
	return going;
}

int pp_tell_allocation(uint64_t addr)
{
	struct range range = { 0 };

	if (!addr)
		return PP_GOING_NOTHING;
	if (ask(addr, &range) || !range.size)
		return pp_tell_all();
	return pp_tell_range(range.start, range.size);
}

int pp_tell_all(void)
{
	return pp_tell_range(0, UINT64_MAX);
}
