// SPDX-License-Identifier: MIT
#include "bench/bench.h"
#include "ours.h"
#include "race.h"

enum {
	ROUNDS = 101,
	ENOUGH = 11,	/* rounds, if they have taken LONG_NS */
	WARM = 1 << 17,
	TURN = 8192,
	TURN_MISSES = 2048,
	CHUNK = 64,
};

#define LONG_NS 4000000000ull

static const struct contender *const racers[RACERS] = {
	[IDEAL] = &baseline_ideal,
	[IDEAL_ATOMIC] = &baseline_ideal_atomic,
	[ARRAY] = &baseline_array,
	[RWTREE] = &baseline_rwtree,
	[TREE] = &baseline_tree,
	[OURS] = &ours,
	[OURS_ONE_WORD] = &ours_one_word,
};

const char *racer_name(enum racer racer)
{
	return racers[racer]->name;
}

/* Look-ups of the members: @warm has each range once, to warm the CPU caches; @timed is measured */
static struct lookup warm[TEAM][WARM], timed[TEAM][TURN];

/**
 * struct turn - turn of one contender
 * @warming: number of look-ups of @warm
 * @ready: number of members that are ready
 * @done: number of members that are done
 * @ps: time of an operation, by member
 */
struct turn {
	const struct contender *c;
	void *cache;
	unsigned int members;
	unsigned int warming;
	atomic_uint ready;
	atomic_uint done;
	uint64_t ps[TEAM];
};

static void hit(const struct turn *t, const struct lookup *lookups, unsigned int count)
{
	bench_need(t->c->hits(t->cache, lookups, count) == count, t->c->name, EIO);
}

/* A member that is done continues until all members are done, so that no timed member runs alone. */
static void take_turn(void *arg, unsigned int me)
{
	struct turn *t = arg;
	uint64_t start;

	hit(t, warm[me], t->warming);
	team_meet(&t->ready, t->members);
	start = now_ns();
	hit(t, timed[me], TURN);
	t->ps[me] = (now_ns() - start) * 1000 / TURN;
	atomic_fetch_add(&t->done, 1);
	while (atomic_load(&t->done) < t->members)
		hit(t, timed[me], CHUNK);
}

static uint64_t turn_of(const struct contender *c, void *cache, unsigned int members, unsigned int warming)
{
	struct turn t = { .c = c, .cache = cache, .members = members, .warming = warming };
	uint64_t sum = 0;

	team_run(members, take_turn, &t);
	for (unsigned int i = 0; i < members; i++)
		sum += t.ps[i];
	return sum / members;
}

/* @ps: times, indexed by contender, number of threads - 1, and round */
static struct race conclude(const char *name, uint64_t ps[RACERS][TEAM][ROUNDS], unsigned int rounds)
{
	struct race r = { .name = name };

	for (unsigned int i = 0; i < RACERS; i++)
		for (unsigned int more = 0; more < TEAM; more++) {
			r.ns[i][more] = bench_median(ps[i][more], rounds) / 1e3;
			if (!r.ns[i][more])
				continue;
			printf("%s, %u thread%s: %s %.1f ns", name, more + 1, more ? "s" : "", racers[i]->name,
			       r.ns[i][more]);
			if (r.ns[IDEAL][0])
				printf(", %.2f x ideal", r.ns[i][more] / r.ns[IDEAL][0]);
			printf("\n");
		}
	return r;
}

static bool more_rounds(unsigned int done, uint64_t since)
{
	return done < ROUNDS && (done < ENOUGH || now_ns() - since < LONG_NS);
}

static void make_all(const struct ranges *ranges, void *caches[RACERS])
{
	for (unsigned int i = 0; i < RACERS; i++) {
		caches[i] = racers[i]->make(ranges->count, 0);
		racers[i]->use(caches[i], ranges->at, ranges->count);
	}
}

static void drop_all(void *caches[RACERS])
{
	for (unsigned int i = 0; i < RACERS; i++)
		racers[i]->drop(caches[i]);
}

static void pick(const struct ranges *ranges, unsigned int warming)
{
	for (unsigned int i = 0; i < TEAM; i++) {
		ranges_look_up_each(ranges, warm[i], warming);
		ranges_look_up(ranges, timed[i], TURN);
	}
}

struct race race_hits(const char *name, const struct ranges *ranges)
{
	static uint64_t ps[RACERS][TEAM][ROUNDS];
	unsigned int warming = ranges->count < TURN ? TURN : ranges->count, round;
	struct pp_cache_stats stats;
	void *caches[RACERS];
	uint64_t start;

	make_all(ranges, caches);
	for (round = 0, start = now_ns(); more_rounds(round, start); round++) {
		pick(ranges, warming);
		for (unsigned int i = 0; i < RACERS; i++)
			for (unsigned int more = 0; more < (racers[i]->shared ? team_size() : 1); more++)
				ps[i][more][round] = turn_of(racers[i], caches[i], more + 1, warming);
	}
	stats = ours_stats(caches[OURS]);
	bench_need(stats.misses == ranges->count, "some hits were misses", EIO);
	drop_all(caches);
	return conclude(name, ps, round);
}

/* Use @count ranges from @at on; the first range follows the last. */
static void use_next(const struct contender *c, void *cache, const struct ranges *ranges, unsigned int at,
		     unsigned int count)
{
	for (; count--; at = at + 1 < ranges->count ? at + 1 : 0)
		c->use(cache, &ranges->at[at], 1);
}

static uint64_t time_misses(const struct contender *c, void *cache, const struct ranges *ranges, unsigned int at)
{
	uint64_t start = now_ns();

	use_next(c, cache, ranges, at, TURN_MISSES);
	return (now_ns() - start) * 1000 / TURN_MISSES;
}

struct race race_misses(const char *name, const struct ranges *ranges)
{
	static uint64_t ps[RACERS][TEAM][ROUNDS];
	void *caches[RACERS];
	unsigned int at = 0, i, round;
	struct pp_cache_stats stats;
	uint64_t start;

	for (i = TREE; i <= OURS; i++) {
		caches[i] = racers[i]->make(ranges->count, ranges->count / 2);
		racers[i]->use(caches[i], ranges->at, ranges->count);
	}
	for (round = 0, start = now_ns(); more_rounds(round, start); round++, at = (at + TURN_MISSES) % ranges->count)
		for (i = TREE; i <= OURS; i++)
			ps[i][0][round] = time_misses(racers[i], caches[i], ranges, at);
	stats = ours_stats(caches[OURS]);
	bench_need(stats.misses == ranges->count + round * TURN_MISSES && !stats.hits, "some misses were hits", EIO);
	bench_need(stats.entries <= ranges->count / 2, "more entries than the limit", EIO);
	for (i = TREE; i <= OURS; i++)
		racers[i]->drop(caches[i]);
	return conclude(name, ps, round);
}

static uint64_t time_chain(const struct contender *c, void *cache, unsigned int warming)
{
	uint64_t start;

	bench_need(c->hits(cache, warm[0], warming) == warming, c->name, EIO);
	start = now_ns();
	bench_need(c->chain(cache, timed[0], TURN) == TURN, c->name, EIO);
	return (now_ns() - start) * 1000 / TURN;
}

struct race race_chain(const char *name, const struct ranges *ranges)
{
	static uint64_t ps[RACERS][TEAM][ROUNDS];
	unsigned int warming = ranges->count < TURN ? TURN : ranges->count, round;
	void *caches[RACERS];
	uint64_t start;

	memset(ps, 0, sizeof(ps));
	make_all(ranges, caches);
	for (round = 0, start = now_ns(); more_rounds(round, start); round++) {
		pick(ranges, warming);
		for (unsigned int i = 0; i < RACERS; i++)
			if (racers[i]->chain)
				ps[i][0][round] = time_chain(racers[i], caches[i], warming);
	}
	drop_all(caches);
	return conclude(name, ps, round);
}

enum { SINGLES = 1 << 16 };

struct tail race_tail(const char *name, const struct ranges *ranges)
{
	static uint64_t ns[RACERS][SINGLES];
	void *caches[RACERS];
	struct tail tail;
	uint64_t start;

	for (unsigned int i = TREE; i <= OURS; i++) {
		caches[i] = racers[i]->make(ranges->count, ranges->count / 2);
		racers[i]->use(caches[i], ranges->at, ranges->count);
	}
	for (unsigned int k = 0; k < SINGLES; k++)
		for (unsigned int i = TREE; i <= OURS; i++) {
			start = now_ns();
			use_next(racers[i], caches[i], ranges, k % ranges->count, 1);
			ns[i][k] = now_ns() - start;
		}
	for (unsigned int i = TREE; i <= OURS; i++) {
		printf("%s, single and the clock: %s median %lu ns", name, racers[i]->name, bench_median(ns[i], SINGLES));
		printf(", 99.9th percentile %lu ns\n", ns[i][SINGLES / 1000 * 999]);
		racers[i]->drop(caches[i]);
	}
	tail.ours = ns[OURS][SINGLES / 1000 * 999];
	tail.tree = ns[TREE][SINGLES / 1000 * 999];
	return tail;
}
