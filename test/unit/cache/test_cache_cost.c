// SPDX-License-Identifier: MIT
/* Time of a hit, a put and an invalidation, and memory of a region, as the number of regions and of threads grows */
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "libpeerpin.h"
#include "test/unit/random.h"
#include "test/unit/unit.h"

enum {
	MANY = 100000,
	FEW = 100,
	REGION = 65536,
	OFFSET = 4096,		/* offset of unaligned regions */
	ROUNDS = 9,
	HITS = 2000,		/* hits in a round */
};

#define BASE 0x7000000000ull

static struct pp_cache *cache;
static unsigned int pins;

static int pin(void *arg, uint64_t addr, uint64_t length, void **reg, struct pp_why *why)
{
	(void)arg;
	(void)addr;
	(void)length;
	(void)why;
	pins++;
	*reg = &pins;
	return 0;
}

static void unpin(void *arg, void *reg)
{
	(void)arg;
	(void)reg;
	pins--;
}

/* @limit: of entries, 0: none */
static void make_limited(unsigned int limit)
{
	const struct pp_cache_ops ops = { .pin = pin, .unpin = unpin };
	const struct pp_cache_attr attr = { .max_entries = limit };

	assert_int_equal(pp_cache_create(&ops, NULL, &attr, &cache), 0);
}

static void make(void)
{
	make_limited(0);
}

static bool touch_at(uint64_t offset)
{
	const struct pp_cache_entry *e;

	if (pp_cache_get(cache, (void *)(uintptr_t)(BASE + offset), REGION, &e, NULL))
		return false;
	pp_cache_put(cache, e);
	return true;
}

static bool touch(uint64_t n)
{
	return touch_at(n * REGION);
}

static void touch_all(unsigned int first, unsigned int count)
{
	unsigned int i;

	for (i = first; i < first + count; i++)
		assert_true(touch(i));
}

static double now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1e9 + ts.tv_nsec;
}

static int in_order(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double hit_ns(unsigned int count)
{
	double start, took[ROUNDS];
	uint64_t rnd = 1;
	unsigned int i, k;

	for (i = 0; i < ROUNDS; i++) {
		start = now_ns();
		for (k = 0; k < HITS; k++)
			touch(random_below(&rnd, count));
		took[i] = (now_ns() - start) / HITS;
	}
	qsort(took, ROUNDS, sizeof(took[0]), in_order);
	return took[ROUNDS / 2];
}

/* With 1000 times as many regions, a hit may miss the CPU caches. The hit must not cost more than that. */
static void lookup_time_ignores_region_count(void **state)
{
	double few, many;

	(void)state;
	make();
	touch_all(0, FEW);
	few = hit_ns(FEW);
	touch_all(FEW, MANY - FEW);
	many = hit_ns(MANY);
	printf("a hit of %d regions %.0f ns, of %d %.0f ns\n", FEW, few, MANY, many);
	assert_true(many < 40 * few);
	assert_int_equal(pins, MANY);
	pp_cache_destroy(cache);
	assert_int_equal(pins, 0);
}

static size_t resident(void)
{
	size_t pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%*u %zu", &pages), 1);
	fclose(f);
	return pages * 4096;
}

/* Run in a child process, which reuses no memory that earlier cases freed. */
static void fill(unsigned int offset, int out)
{
	size_t before, used;
	bool ok = true;
	unsigned int i;

	make();
	ok &= touch(0);
	malloc_trim(0);
	before = resident();
	for (i = 1; i < MANY / 2; i++)
		ok &= touch_at(2ull * i * REGION + offset);
	used = resident() - before;
	_exit(!ok || write(out, &used, sizeof(used)) != sizeof(used));
}

static double bytes_per_region(unsigned int offset)
{
	size_t used = 0;
	int ends[2], status;
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	fflush(NULL);
	pid = fork();
	if (!pid)
		fill(offset, ends[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(read(ends[0], &used, sizeof(used)), sizeof(used));
	close(ends[0]);
	close(ends[1]);
	return (double)used / (MANY / 2);
}

static void unaligned_regions_cost_similar_memory(void **state)
{
	double aligned, unaligned;

	(void)state;
	aligned = bytes_per_region(0);
	unaligned = bytes_per_region(OFFSET);
	printf("%.0f bytes a region, %.0f where it is not aligned\n", aligned, unaligned);
	assert_true(aligned < 256);
	assert_true(unaligned < 1.6 * aligned);
}

/* ---- idle threads ------------------------------------------------------------------ */

enum {
	CROWD = 256,
	BATCH = 2000,
};

static pthread_t crowd[CROWD];
static sem_t used_it, may_end;

static void *use_once(void *unused)
{
	touch(0);
	sem_post(&used_it);
	sem_wait(&may_end);
	return unused;
}

static void crowd_begin(void)
{
	unsigned int i;

	sem_init(&used_it, 0, 0);
	sem_init(&may_end, 0, 0);
	for (i = 0; i < CROWD; i++)
		assert_int_equal(pthread_create(&crowd[i], NULL, use_once, NULL), 0);
	for (i = 0; i < CROWD; i++)
		sem_wait(&used_it);
}

static void crowd_end(void)
{
	unsigned int i;

	for (i = 0; i < CROWD; i++)
		sem_post(&may_end);
	for (i = 0; i < CROWD; i++)
		pthread_join(crowd[i], NULL);
}

/* The shortest of some rounds */
static double invalidate_ns(void)
{
	double start, took[ROUNDS];
	unsigned int i;

	for (i = 0; i < ROUNDS; i++) {
		touch_all(1, BATCH);
		start = now_ns();
		pp_cache_invalidate(cache, (void *)(BASE + REGION), (size_t)BATCH * REGION);
		took[i] = now_ns() - start;
	}
	qsort(took, ROUNDS, sizeof(took[0]), in_order);
	return took[0];
}

/* With a walk over all threads for each entry, the crowd costs more than ten times as much. */
static void invalidation_ignores_number_of_threads(void **state)
{
	double alone, beside, after;

	(void)state;
	make();
	alone = invalidate_ns();
	crowd_begin();
	beside = invalidate_ns();
	crowd_end();
	after = invalidate_ns();
	printf("%d entries: %.0f us alone, %.0f beside %d threads, %.0f after them\n", BATCH, alone / 1e3, beside / 1e3,
	       CROWD, after / 1e3);
	pp_cache_destroy(cache);
	assert_true(beside < 3 * alone);
	assert_true(after < 3 * alone);
}

/* ---- entries in use ------------------------------------------------------------------ */

enum {
	HELD = 8000,
	HELD_FEW = 400,
	LIMIT = 10,
};

static const struct pp_cache_entry *held[HELD];

static void hold(unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++) {
		void *at = (void *)(uintptr_t)(BASE + (uint64_t)i * REGION);

		assert_int_equal(pp_cache_get(cache, at, REGION, &held[i], NULL), 0);
	}
}

static double put_ns(unsigned int count)
{
	double start = now_ns();
	unsigned int i;

	for (i = 0; i < count; i++)
		pp_cache_put(cache, held[i]);
	return (now_ns() - start) / count;
}

/* Of a region that is put and evicted at once, while @count regions in use exceed the limit */
static double over_limit_ns(unsigned int count)
{
	double start, took[ROUNDS];
	unsigned int i, k;

	make_limited(LIMIT);
	hold(count);
	for (i = 0; i < ROUNDS; i++) {
		start = now_ns();
		for (k = 0; k < 40; k++)
			assert_true(touch(MANY + k));
		took[i] = (now_ns() - start) / 40;
	}
	assert_int_equal(pins, count);
	put_ns(count);
	assert_int_equal(pins, LIMIT);
	pp_cache_destroy(cache);
	qsort(took, ROUNDS, sizeof(took[0]), in_order);
	return took[0];
}

/* With a search through all regions, 20 times as many regions cost 20 times as much. */
static void regions_in_use_are_not_searched(void **state)
{
	double few = over_limit_ns(HELD_FEW), many = over_limit_ns(HELD);

	(void)state;
	printf("over the limit: %.0f ns beside %d regions in use, %.0f beside %d\n", few, HELD_FEW, many, HELD);
	assert_true(many < 10 * few);
}

static double put_forgotten_ns(unsigned int count)
{
	double took = 0, one;
	unsigned int i;

	for (i = 0; i < ROUNDS; i++) {
		make();
		hold(count);
		pp_cache_invalidate(cache, (void *)BASE, (size_t)count * REGION);
		assert_int_equal(pins, count);
		one = put_ns(count);
		took = i && took < one ? took : one;
		assert_int_equal(pins, 0);
		pp_cache_destroy(cache);
	}
	return took;
}

static void put_of_forgotten_ignores_others(void **state)
{
	double few = put_forgotten_ns(HELD_FEW), many = put_forgotten_ns(HELD);

	(void)state;
	printf("put of a forgotten region: %.0f ns of %d, %.0f ns of %d\n", few, HELD_FEW, many, HELD);
	assert_true(many < 10 * few);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lookup_time_ignores_region_count),
		cmocka_unit_test(unaligned_regions_cost_similar_memory),
		cmocka_unit_test(invalidation_ignores_number_of_threads),
		cmocka_unit_test(regions_in_use_are_not_searched),
		cmocka_unit_test(put_of_forgotten_ignores_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
