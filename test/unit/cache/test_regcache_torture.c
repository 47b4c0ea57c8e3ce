// SPDX-License-Identifier: MIT
/*
 * Many threads use the cache while another thread frees and allocates memory. Limits force
 * evictions, and processes fork. Each round and each child has its own cache. The threads count
 * failures, because the asserts of cmocka work in one thread only.
 *
 *	test_regcache_torture [SECONDS]		rounds for so long, else one
 */
#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>
#include "test/unit/mock/mock_memory.h"
#include "test/unit/random.h"
#include "test/unit/unit.h"

enum {
	THREADS = 4,
	ROUNDS = 4000,
	SPAN = 64,		/* number of pages in use */
	FORKS = 4,		/* number of forks in a round */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	FORK_ANYWHERE = 0,	/* a child would inherit locked locks of the sanitizer's allocator */
#else
	FORK_ANYWHERE = 1,
#endif
	PATIENCE = 120,		/* time limit of a child, in seconds */
};

struct worker {
	pthread_t thread;
	void (*take)(struct worker *w);		/* makes one step of the worker */
	uint64_t rnd;
	unsigned int got;
};

static struct mock_memory mem;
static struct pp_cache *cache;
/* Without FORK_ANYWHERE, forks happen only while no thread is in a step. */
static pthread_rwlock_t between_steps = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
static atomic_int wrong;
static double seconds;		/* duration of each case */

/* Sums over all rounds */
static uint64_t rounds, forks, hits, misses, revocations, evictions;

static void expect(bool ok)
{
	if (!ok)
		atomic_fetch_add(&wrong, 1);
}

static uint64_t owner_of(unsigned int page)
{
	uint64_t owner;

	pthread_mutex_lock(&mem.lock);
	owner = mem.owner[page];
	pthread_mutex_unlock(&mem.lock);
	return owner;
}

/* G1: the registration must belong to the owner before the get, or to a later owner. */
static void check(const struct pp_cache_entry *e, unsigned int page,
		  unsigned int count, uint64_t owner)
{
	const struct mock_reg *reg = e->reg;

	expect(e->addr <= (uintptr_t)mock_at(page));
	expect((uintptr_t)mock_at(page + count) <= e->addr + e->length);
	expect(reg->unpinned == 0);
	expect(reg->owner[page] >= owner);
}

static void get_and_put(struct worker *w)
{
	unsigned int page = random_below(&w->rnd, SPAN);
	unsigned int count = 1 + random_below(&w->rnd, 8);
	uint64_t owner = owner_of(page);
	const struct pp_cache_entry *e;
	int ret;

	ret = pp_cache_get(cache, mock_at(page), count * MOCK_PAGE, &e, NULL);
	if (ret) {
		expect(ret == -ENOMEM || ret == -EINVAL || ret == -ESTALE);
		return;
	}
	w->got++;
	check(e, page, count, owner);
	if (!random_below(&w->rnd, 8))
		sched_yield();
	pp_cache_put(cache, e);
}

static void disturb(struct worker *w)
{
	unsigned int page = random_below(&w->rnd, SPAN);

	mock_alloc(&mem, page, 1 + random_below(&w->rnd, 8));
	if (!random_below(&w->rnd, 4))
		pp_cache_invalidate(cache, mock_at(page), MOCK_PAGE);
	if (!random_below(&w->rnd, 64))
		pp_cache_flush(cache);
	sched_yield();
}

static void step(struct worker *w)
{
	if (!FORK_ANYWHERE)
		pthread_rwlock_rdlock(&between_steps);
	w->take(w);
	if (!FORK_ANYWHERE)
		pthread_rwlock_unlock(&between_steps);
}

static void *work(void *arg)
{
	struct worker *w = arg;
	int i;

	for (i = 0; i < ROUNDS; i++)
		step(w);
	return NULL;
}

/* ---- processes ------------------------------------------------------------------- */

/* Use a cache in the child. It must work, whatever locks other threads held at the fork. */
static int use_own(const struct pp_cache_ops *ops)
{
	const struct pp_cache_attr attr = { .max_bytes = 8 * MOCK_PAGE };
	const struct pp_cache_entry *e;
	static struct mock_memory own;
	struct pp_cache *c;
	unsigned int i;

	mock_memory_init(&own);
	mock_alloc(&own, 0, MOCK_PAGES);
	if (pp_cache_create(ops, &own, &attr, &c))
		return 2;
	for (i = 0; i + 2 <= MOCK_PAGES; i += 3) {
		mock_alloc(&own, i, 2);
		if (pp_cache_get(c, mock_at(i), 2 * MOCK_PAGE, &e, NULL))
			return 3;
		pp_cache_put(c, e);
	}
	pp_cache_destroy(c);
	return own.pins > 10 && own.pins == own.unpins ? 0 : 4;
}

/* The child must not touch the parent's registrations. */
static int in_child(const struct pp_cache_ops *ops, const struct pp_cache_entry *held)
{
	const struct pp_cache_entry *e;
	int unpins = mem.unpins;

	alarm(PATIENCE);
	if (pp_cache_get(cache, mock_at(0), MOCK_PAGE, &e, NULL) != -EACCES)
		return 5;
	if (held)
		pp_cache_put(cache, held);
	pp_cache_invalidate(cache, mock_at(0), SPAN * MOCK_PAGE);
	pp_cache_flush(cache);
	pp_cache_destroy(cache);
	return mem.unpins == unpins ? use_own(ops) : 6;
}

static pid_t fork_in_time(void)
{
	pid_t pid;

	if (FORK_ANYWHERE)
		return fork();
	pthread_rwlock_wrlock(&between_steps);
	pid = fork();
	if (pid)
		pthread_rwlock_unlock(&between_steps);
	return pid;
}

static void fork_off(const struct pp_cache_ops *ops)
{
	const struct pp_cache_entry *held;
	int status;
	pid_t pid;

	if (pp_cache_get(cache, mock_at(SPAN), MOCK_PAGE, &held, NULL))
		held = NULL;
	pid = fork_in_time();
	if (!pid)
		_exit(in_child(ops, held));
	expect(waitpid(pid, &status, 0) == pid && !status);
	if (held)
		pp_cache_put(cache, held);
	forks++;
}

/* ---- rounds ---------------------------------------------------------------------- */

static void run_threads(const struct pp_cache_ops *ops, uint64_t *seed)
{
	struct worker w[THREADS + 1];
	int i;

	for (i = 0; i <= THREADS; i++) {
		w[i] = (struct worker){ .rnd = random_next(seed), .take = i ? get_and_put : disturb };
		assert_int_equal(pthread_create(&w[i].thread, NULL, work, &w[i]), 0);
	}
	for (i = 0; i < FORKS; i++)
		fork_off(ops);
	for (i = 0; i <= THREADS; i++)
		pthread_join(w[i].thread, NULL);
	assert_true(w[1].got > ROUNDS / 4);
}

static void count_all(void)
{
	struct pp_cache_stats s;

	pp_cache_stats(cache, &s);
	assert_true(s.hits && s.evictions);
	hits += s.hits;
	misses += s.misses;
	revocations += s.revocations;
	evictions += s.evictions;
}

static void check_end(void)
{
	const struct mock_reg *r;

	assert_int_equal(atomic_load(&wrong), 0);
	assert_true(LIST_EMPTY(&mem.live));
	assert_int_equal(mem.pins, mem.unpins);
	LIST_FOREACH(r, &mem.dead, link)
		assert_int_equal(r->unpinned, 1);
	mock_memory_destroy(&mem);
}

static void run_round(const struct pp_cache_ops *ops, uint64_t *seed)
{
	const struct pp_cache_attr attr = { .max_bytes = 40 * MOCK_PAGE };

	mock_memory_init(&mem);
	mem.capacity = 60 * MOCK_PAGE;
	mock_alloc(&mem, 0, MOCK_PAGES);
	assert_int_equal(pp_cache_create(ops, &mem, &attr, &cache), 0);
	run_threads(ops, seed);
	count_all();
	pp_cache_destroy(cache);
	check_end();
	rounds++;
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void run(const struct pp_cache_ops *ops)
{
	double end = now() + seconds;
	uint64_t seed = random_seed();

	do {
		run_round(ops, &seed);
	} while (now() < end);
	/* In a single round the threads may have run one after the other. */
	assert_true(revocations || seconds <= 0);
}

static void merging_memory_survives_torture(void **state)
{
	(void)state;
	run(&mock_host_ops);
}

static void allocations_survive_torture(void **state)
{
	(void)state;
	run(&mock_gpu_ops);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(merging_memory_survives_torture),
		cmocka_unit_test(allocations_survive_torture),
	};
	int ret;

	if (argc > 1)
		seconds = strtod(argv[1], NULL) / (sizeof(tests) / sizeof(tests[0]));
	ret = cmocka_run_group_tests(tests, NULL, NULL);
	printf("# %llu rounds, %llu forks, %llu hits, %llu misses, %llu revocations, %llu evictions\n",
	       (unsigned long long)rounds, (unsigned long long)forks, (unsigned long long)hits,
	       (unsigned long long)misses, (unsigned long long)revocations, (unsigned long long)evictions);
	return ret;
}
