// SPDX-License-Identifier: MIT
#include "bench/bench.h"
#include "ours.h"
#include "ranges.h"
#include "seats.h"

enum {
	ROUNDS = 101,
	HITS = 8192,
	TIMED = 3,
};

static void *caches[SEATS_LAST];
static struct lookup lookups[HITS];

static uint64_t ps_of_hit(void *cache)
{
	uint64_t start = now_ns();

	bench_need(ours.hits(cache, lookups, HITS) == HITS, ours.name, EIO);
	return (now_ns() - start) * 1000 / HITS;
}

struct seats seats_race(void)
{
	static const unsigned int timed[TIMED] = { 1, SEATS_SECOND, SEATS_LAST };
	struct ranges one = ranges_dense(1, ASKED);
	uint64_t ps[TIMED][ROUNDS];
	struct seats s;
	unsigned int i;

	ranges_look_up(&one, lookups, HITS);
	for (i = 0; i < SEATS_LAST; i++) {
		caches[i] = ours.make(1, 0);
		ours.use(caches[i], one.at, 1);
	}
	for (unsigned int round = 0; round < ROUNDS; round++)
		for (i = 0; i < TIMED; i++)
			ps[i][round] = ps_of_hit(caches[timed[i] - 1]);
	for (i = 0; i < SEATS_LAST; i++)
		ours.drop(caches[i]);
	ranges_free(&one);
	s = (struct seats){
		bench_median(ps[0], ROUNDS) / 1e3, bench_median(ps[1], ROUNDS) / 1e3, bench_median(ps[2], ROUNDS) / 1e3,
	};
	printf("hit in the first cache of a process %.1f ns, in the %dth %.1f ns, in the %dth %.1f ns\n", s.first,
	       SEATS_SECOND, s.second, SEATS_LAST, s.last);
	return s;
}
