// SPDX-License-Identifier: MIT
#include "calls.h"

static const struct call *const lists[] = { core_calls, gpu_calls, peer_calls, memory_calls };

static const struct call *find(const struct call *list, unsigned int at)
{
	while (list->weight && at >= list->weight)
		at -= list++->weight;
	return list;
}

static unsigned int total(const struct call *list)
{
	unsigned int sum = 0;

	while (list->weight)
		sum += list++->weight;
	return sum;
}

static void run_one(struct world *world, struct choices *c)
{
	const struct call *list = lists[choose(c, sizeof(lists) / sizeof(*lists))];

	find(list, (unsigned int)choose(c, total(list)))->make(world, c);
}

uint64_t calls_run(struct world *world, struct choices *c)
{
	uint64_t made = 0;

	for (; choices_left(c); made++)
		run_one(world, c);
	return made;
}
