// SPDX-License-Identifier: MIT
#include <pthread.h>
#include <sys/resource.h>
#include "bench/bench.h"
#include "crowd.h"
#include "ours.h"
#include "team.h"

enum {
	ROUNDS = 11,
	OPERATIONS = 1 << 16,	/* of all threads in a round */
	IDLE_OPERATIONS = 1 << 13,
};

/**
 * struct round - one round of one contender
 * @each: operations of a thread
 * @start: all threads are there; @end: all threads are done
 */
struct round {
	const struct contender *c;
	void *cache;
	const struct ranges *ranges;
	unsigned int each;
	pthread_barrier_t start;
	pthread_barrier_t end;
};

struct member {
	pthread_t thread;
	struct round *round;
	unsigned int number;
	uint64_t began;
	uint64_t ended;
};

static unsigned int next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return *state >> 33;
}

static void *miss(void *arg)
{
	struct member *m = arg;
	struct round *r = m->round;
	uint64_t state = m->number + 1;

	team_move_to(m->number);
	pthread_barrier_wait(&r->start);
	m->began = now_ns();
	for (unsigned int i = 0; i < r->each; i++)
		r->c->use(r->cache, &r->ranges->at[next_random(&state) % r->ranges->count], 1);
	m->ended = now_ns();
	pthread_barrier_wait(&r->end);
	return NULL;
}

static void begin(struct member *members, unsigned int threads, void *(*run)(void *), struct round *r)
{
	bench_need(!pthread_barrier_init(&r->start, NULL, threads + 1) && !pthread_barrier_init(&r->end, NULL, threads + 1),
		   "barriers", ENOMEM);
	for (unsigned int i = 0; i < threads; i++) {
		members[i] = (struct member){ .round = r, .number = i };
		bench_need(!pthread_create(&members[i].thread, NULL, run, &members[i]), "pthread_create", EAGAIN);
	}
	pthread_barrier_wait(&r->start);
}

static void end(struct member *members, unsigned int threads, struct round *r)
{
	for (unsigned int i = 0; i < threads; i++)
		pthread_join(members[i].thread, NULL);
	pthread_barrier_destroy(&r->start);
	pthread_barrier_destroy(&r->end);
}

static uint64_t us(struct timeval t)
{
	return t.tv_sec * 1000000ull + t.tv_usec;
}

/* Context switches, and CPU time in us, of the process so far */
static void usage(uint64_t *switches, uint64_t *cpu)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	*switches = u.ru_nvcsw + u.ru_nivcsw;
	*cpu = us(u.ru_utime) + us(u.ru_stime);
}

/* An operation takes @ps of time and @cpu ps of CPU time, and makes @milli thousandths of a context switch. */
static void run(struct round *r, unsigned int threads, uint64_t *ps, uint64_t *cpu, uint64_t *milli)
{
	static struct member members[CROWD];
	uint64_t began = UINT64_MAX, ended = 0, switches, switches_before, cpu_before;

	usage(&switches_before, &cpu_before);
	r->each = OPERATIONS / threads;
	begin(members, threads, miss, r);
	pthread_barrier_wait(&r->end);
	end(members, threads, r);
	for (unsigned int i = 0; i < threads; i++) {
		began = members[i].began < began ? members[i].began : began;
		ended = members[i].ended > ended ? members[i].ended : ended;
	}
	*ps = (ended - began) * 1000 / OPERATIONS;
	usage(&switches, cpu);
	*cpu = (*cpu - cpu_before) * 1000000 / OPERATIONS;
	*milli = (switches - switches_before) * 1000 / OPERATIONS;
}

void crowd_misses(unsigned int threads, const struct ranges *ranges, unsigned int limit, struct crowd *of_ours,
		  struct crowd *of_tree)
{
	const struct contender *const both[] = { &ours, &baseline_tree };
	struct crowd *const out[] = { of_ours, of_tree };
	uint64_t ps[2][ROUNDS], cpu[2][ROUNDS], milli[2][ROUNDS];
	struct round r[2];

	team_size();	/* before members move */
	for (unsigned int i = 0; i < 2; i++)
		r[i] = (struct round){ .c = both[i], .cache = both[i]->make(ranges->count, limit), .ranges = ranges };
	for (unsigned int round = 0; round < ROUNDS; round++)
		for (unsigned int i = 0; i < 2; i++)
			run(&r[i], threads, &ps[i][round], &cpu[i][round], &milli[i][round]);
	for (unsigned int i = 0; i < 2; i++) {
		out[i]->ns = bench_median(ps[i], ROUNDS) / 1e3;
		out[i]->cpu = bench_median(cpu[i], ROUNDS) / 1e3;
		out[i]->switches = bench_median(milli[i], ROUNDS) / 1e3;
		printf("%u threads, %u ranges, limit %u: %s %.1f ns, %.1f ns of CPU time, %.3f context switches an operation\n",
		       threads, ranges->count, limit, both[i]->name, out[i]->ns, out[i]->cpu,
		       out[i]->switches);
		both[i]->drop(r[i].cache);
	}
}

static void *stay(void *arg)
{
	struct member *m = arg;
	struct round *r = m->round;

	r->c->use(r->cache, r->ranges->at, 1);
	pthread_barrier_wait(&r->start);
	pthread_barrier_wait(&r->end);
	return NULL;
}

/*
 * CPU time of the calling thread. A round may be longer than a time slice, so other load would add to the elapsed
 * time.
 */
static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static double miss_ns(const struct round *r)
{
	uint64_t ps[ROUNDS], start;

	for (unsigned int round = 0; round < ROUNDS; round++) {
		start = cpu_ns();
		for (unsigned int i = 0; i < IDLE_OPERATIONS; i++)
			r->c->use(r->cache, &r->ranges->at[i % r->ranges->count], 1);
		ps[round] = (cpu_ns() - start) * 1000 / IDLE_OPERATIONS;
	}
	return bench_median(ps, ROUNDS) / 1e3;
}

static double invalidation_ns(const struct round *r)
{
	const struct range *first = r->ranges->at, *last = first + INVALIDATED - 1;
	struct ours *o = r->cache;
	uint64_t ns[ROUNDS];

	for (unsigned int round = 0; round < ROUNDS; round++) {
		r->c->use(o, first, INVALIDATED);
		ns[round] = cpu_ns();
		pp_cache_invalidate(o->cache, (void *)first->start, last->start + last->length - first->start);
		ns[round] = cpu_ns() - ns[round];
	}
	bench_need(!ours_stats(o).entries, "an entry is still in the cache", EIO);
	return bench_median(ns, ROUNDS);
}

static void measure_beside(struct round *r, unsigned int threads, double *miss, double *invalidation)
{
	static struct member members[CROWD];

	begin(members, threads, stay, r);
	*miss = miss_ns(r);
	pp_cache_flush(((struct ours *)r->cache)->cache);
	*invalidation = invalidation_ns(r);
	pthread_barrier_wait(&r->end);
	end(members, threads, r);
}

static void say(const char *what, unsigned int ranges, const struct idle *i)
{
	printf("%s, %u ranges: %.1f ns of CPU time beside 1 idle thread, %.1f beside %d, %.1f after them\n", what, ranges, i->one,
	       i->all, CROWD, i->after);
}

void crowd_idle(const struct ranges *ranges, unsigned int limit, struct idle *miss, struct idle *invalidation)
{
	struct round r = { .c = &ours, .cache = ours.make(ranges->count, limit), .ranges = ranges };

	measure_beside(&r, 1, &miss->one, &invalidation->one);
	measure_beside(&r, CROWD, &miss->all, &invalidation->all);
	measure_beside(&r, 1, &miss->after, &invalidation->after);
	say("miss and evict", ranges->count, miss);
	say("invalidation of 2,000", ranges->count, invalidation);
	ours.drop(r.cache);
}
