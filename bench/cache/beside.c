// SPDX-License-Identifier: MIT
#include "bench/bench.h"
#include "beside.h"
#include "team.h"

enum {
	ROUNDS = 51,
	LOOKUPS = 8192,
	PASSES = 16,
	SINGLES = 8192,
	NAP_US = 50,
};

enum wish { REST, WORK, END };

/* Results of rounds, either all idle or all busy: ps per hit for each pass, and ns of single hits */
struct times {
	uint64_t passes[ROUNDS * PASSES];
	uint64_t singles[ROUNDS * SINGLES];
};

/* @wish: set by the measuring thread; @does: state of the other thread. In cache lines that a hit does not use */
struct pair {
	_Alignas(128) struct other *other;
	atomic_int wish;
	atomic_int does;
};

static struct lookup lookups[LOOKUPS];

static void keep_busy(void *arg, unsigned int me)
{
	struct pair *p = arg;
	int wish;

	(void)me;
	while ((wish = atomic_load(&p->wish)) != END) {
		if (wish == WORK)
			p->other->step(p->other, p->other->steps++);
		if (atomic_load(&p->does) != wish)
			atomic_store(&p->does, wish);
		if (wish == REST)
			usleep(NAP_US);
	}
}

/* Wait until the other thread has made a step, or has stopped. */
static void ask_for(struct pair *p, enum wish wish)
{
	atomic_store(&p->wish, wish);
	while (atomic_load(&p->does) != (int)wish)
		;
}

static uint64_t hit(const struct contender *c, void *cache, const struct lookup *l, unsigned int count)
{
	uint64_t start = now_ns();

	bench_need(c->hits(cache, l, count) == count, c->name, EIO);
	return now_ns() - start;
}

static void measure(const struct contender *c, void *cache, struct times *t, unsigned int round)
{
	uint64_t *pass = t->passes + round * PASSES, *single = t->singles + round * SINGLES;
	unsigned int i;

	for (i = 0; i < PASSES; i++)
		pass[i] = hit(c, cache, lookups, LOOKUPS) * 1000 / LOOKUPS;
	for (i = 0; i < SINGLES; i++)
		single[i] = hit(c, cache, lookups + i % LOOKUPS, 1);
}

static struct beside conclude(const char *name, const char *when, struct times *t)
{
	struct beside b = { .mean = bench_median(t->passes, N(t->passes)) / 1e3 };

	b.single = bench_median(t->singles, N(t->singles));
	b.worst = t->singles[N(t->singles) / 1000 * 999];
	printf("%s, %s: %.1f ns a hit; single ones median %.0f ns, 99.9th percentile %.0f ns\n", name, when, b.mean,
	       b.single, b.worst);
	return b;
}

void beside(const char *name, const struct contender *c, const struct ranges *hot, struct other *other,
	    struct beside *quiet, struct beside *busy)
{
	static struct times resting, working;
	static struct pair p;

	p = (struct pair){ .other = other };
	ranges_look_up(hot, lookups, LOOKUPS);
	team_start_second(keep_busy, &p);
	for (unsigned int round = 0; round < ROUNDS; round++) {
		ask_for(&p, REST);
		measure(c, other->cache, &resting, round);
		ask_for(&p, WORK);
		measure(c, other->cache, &working, round);
	}
	atomic_store(&p.wish, END);
	team_wait_second();
	*quiet = conclude(name, "quiet", &resting);
	*busy = conclude(name, "beside it", &working);
}
