// SPDX-License-Identifier: MIT
#include "bench/bench.h"
#include "misses.h"

static void miss(void *arg, unsigned int me)
{
	struct misses *m = arg;
	uint64_t start;

	team_meet(&m->ready, m->members);
	start = now_ns();
	ours.use(m->cache, m->ranges.at + (m->together ? 0 : me * MISSES), MISSES);
	m->ns[me] = now_ns() - start;
}

unsigned int misses_run(struct misses *m, unsigned int members)
{
	unsigned int pins;

	m->ready = 0;
	m->members = members;
	m->ranges = ranges_dense(TEAM * MISSES, ASKED);
	m->cache = ours.make(m->ranges.count, 0);
	m->cache->pin_ns = m->pin_ns;
	team_run(members, miss, m);
	pins = m->cache->pins;
	ours.drop(m->cache);
	ranges_free(&m->ranges);
	return pins;
}
