// SPDX-License-Identifier: MIT
/* Tests for faults that other registration caches have had. */
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>
#include "cache_regions.h"
#include "test/unit/random.h"

/* ---- threads ----------------------------------------------------------- */

struct toucher {
	pthread_t thread;
	unsigned int first;
	unsigned int count;
	unsigned int times;
	unsigned int failed;
};

static void *touch_them(void *arg)
{
	struct toucher *t = arg;
	uint64_t rnd = t->first + 1;
	unsigned int i;

	for (i = 0; i < t->times; i++)
		t->failed += !touch(t->first + random_below(&rnd, t->count));
	return NULL;
}

static void touch_in_two_threads(unsigned int first, unsigned int second, unsigned int count)
{
	struct toucher t[] = {
		{ .first = first, .count = count, .times = 100000 },
		{ .first = second, .count = count, .times = 100000 },
	};
	unsigned int i;

	for (i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&t[i].thread, NULL, touch_them, &t[i]), 0);
	for (i = 0; i < 2; i++) {
		pthread_join(t[i].thread, NULL);
		assert_int_equal(t[i].failed, 0);
	}
}

/* Get @count new regions: each evicts one old region. */
static void replace_all(unsigned int old, unsigned int new, unsigned int count)
{
	unsigned int i;

	for (i = 0; i < 3 * count; i++) {
		assert_true(touch(new + i));
		assert_int_equal(atomic_load(&pinned[last_unpinned]), 0);
		assert_int_equal(stats().entries, count);
	}
	for (i = 0; i < count; i++)
		assert_int_equal(atomic_load(&pinned[old + i]), 0);
}

/* After parallel gets the LRU list must be intact: later evictions must find every old region. */
static void threads_share_regions_under_limit(void **state)
{
	(void)state;
	cache = make(32, 0);
	touch_in_two_threads(0, 0, 48);
	assert_in_range(stats().entries, 1, 32);
	touch_all(100, 32);
	replace_all(0, 1000, 32);
	replace_all(100, 2000, 32);
}

static void threads_miss_on_disjoint_regions(void **state)
{
	(void)state;
	cache = make(16, 0);
	touch_in_two_threads(0, 1000, 200);
	assert_in_range(atomic_load(&pins), 100000, 200000);
	assert_in_range(stats().entries, 1, 16);
}

/* ---- limits ------------------------------------------------------------ */

static void failed_pin_evicts_idle_and_retries(void **state)
{
	(void)state;
	cache = make(0, 0);
	room = 8;
	touch_all(0, 8);
	touch_all(100, 8);
	assert_int_equal(stats().evictions, 8);
	assert_int_equal(stats().entries, 8);
}

static size_t heap_in_use(void)
{
	struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd;
}

static void fail_to_touch(unsigned int first, unsigned int count)
{
	unsigned int i;

	for (i = first; i < first + count; i++)
		assert_false(touch(i));
}

static void failed_pins_leak_nothing(void **state)
{
	const struct pp_cache_entry *e;
	size_t before;

	(void)state;
	cache = make(4, 0);
	assert_int_equal(pp_cache_get(cache, region(0), REGION, &e, NULL), 0);
	room = 1;
	fail_to_touch(1, 1000);
	before = heap_in_use();
	fail_to_touch(2000, 50000);
	assert_true(heap_in_use() < before + 65536);
	assert_int_equal(stats().entries, 1);
	pp_cache_put(cache, e);
	assert_int_equal(stats().entries, 1);
	assert_true(touch(1));
}

static void cycle(unsigned int count)
{
	unsigned int i;

	for (i = 0; i < 10; i++)
		touch_all(0, count);
	assert_int_equal(atomic_load(&pins), count);
	assert_int_equal(stats().entries, count);
}

static void entry_limit_16_holds_16_regions(void **state)
{
	(void)state;
	cache = make(16, 0);
	cycle(16);
}

static void entry_limit_1_holds_1_region(void **state)
{
	(void)state;
	cache = make(1, 0);
	cycle(1);
}

static void byte_limit_16_regions_holds_16(void **state)
{
	(void)state;
	cache = make(0, 16 * REGION);
	cycle(16);
}

/* ---- waiting ----------------------------------------------------------- */

static void *touch_wide(void *arg)
{
	const struct pp_cache_entry *e;

	(void)arg;
	if (!pp_cache_get(cache, region(slow), 2 * REGION, &e, NULL))
		pp_cache_put(cache, e);
	return NULL;
}

/* False if the thread still waits after 5 seconds. Then open the gate for the thread. */
static bool joins(pthread_t thread)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	ts.tv_sec += 5;
	if (!pthread_timedjoin_np(thread, NULL, &ts))
		return true;
	sem_post(&gate);
	pthread_join(thread, NULL);
	return false;
}

/* Hit in this thread while the pin of another thread has not returned. */
static void check_hits_while_pinning(unsigned int first, unsigned int count)
{
	struct toucher t = { .first = first, .count = count, .times = 1000 };
	pthread_t pinner;
	bool waited;

	assert_int_equal(pthread_create(&pinner, NULL, touch_wide, NULL), 0);
	sem_wait(&reached);
	assert_int_equal(pthread_create(&t.thread, NULL, touch_them, &t), 0);
	waited = !joins(t.thread);
	sem_post(&gate);
	pthread_join(pinner, NULL);
	assert_false(waited);
	assert_int_equal(t.failed, 0);
}

static void hit_waits_for_no_pin(void **state)
{
	(void)state;
	cache = make(0, 0);
	touch_all(0, 8);
	slow = 100;
	check_hits_while_pinning(0, 8);
	assert_int_equal(stats().hits, 1000);
}

/* The running pin covers the existing region and will replace that region. */
static void hit_waits_for_no_wider_pin(void **state)
{
	(void)state;
	cache = make(0, 0);
	touch_all(101, 1);
	slow = 100;
	check_hits_while_pinning(101, 1);
	assert_int_equal(stats().hits, 1000);
	assert_int_equal(stats().entries, 1);
}

/* ---- a writer that stops anywhere ---------------------------------------- */

static atomic_bool stop;
static atomic_bool stopped;
static int resume[2];

/* Stop the writer at a random point, inside or outside its critical section. */
static void on_signal(int signal)
{
	char c;

	(void)signal;
	atomic_store(&stopped, true);
	if (read(resume[0], &c, 1) == 1)
		atomic_store(&stopped, false);
}

static void resume_writer(void)
{
	if (write(resume[1], "", 1) != 1)
		_exit(1);
}

static void *write_without_pause(void *arg)
{
	unsigned int i;

	(void)arg;
	for (i = 0; !atomic_load(&stop); i++) {
		touch(1000 + i % 64);
		if (i % 32 == 31)
			pp_cache_invalidate(cache, region(1000), 64 * REGION);
	}
	return NULL;
}

static sem_t go, hit;
static unsigned int failed;

/* One thread serves all rounds: pthread_create() may need a lock that the stopped writer holds. */
static void *hit_when_told(void *arg)
{
	unsigned int i;

	(void)arg;
	for (;;) {
		sem_wait(&go);
		if (atomic_load(&stop))
			return NULL;
		for (i = 0; i < 8; i++)
			failed += !touch(i);
		sem_post(&hit);
	}
}

/* False if the hits waited 5 seconds for the writer. */
static bool hits_while_stopped(pthread_t writer)
{
	struct timespec ts;
	bool ok;

	pthread_kill(writer, SIGUSR1);
	while (!atomic_load(&stopped))
		sched_yield();
	clock_gettime(CLOCK_REALTIME, &ts);
	ts.tv_sec += 5;
	sem_post(&go);
	ok = !sem_timedwait(&hit, &ts);
	resume_writer();
	while (atomic_load(&stopped))
		sched_yield();
	return ok;
}

static void start_writer_and_hitter(pthread_t *writer, pthread_t *hitter)
{
	const struct sigaction action = { .sa_handler = on_signal };

	assert_int_equal(pipe(resume), 0);
	sigaction(SIGUSR1, &action, NULL);
	sem_init(&go, 0, 0);
	sem_init(&hit, 0, 0);
	atomic_store(&stop, false);
	failed = 0;
	assert_int_equal(pthread_create(writer, NULL, write_without_pause, NULL), 0);
	assert_int_equal(pthread_create(hitter, NULL, hit_when_told, NULL), 0);
	sem_post(&go);
	sem_wait(&hit);
}

static void hit_waits_for_no_stopped_writer(void **state)
{
	pthread_t writer, hitter;
	unsigned int i;
	bool ok = true;

	(void)state;
	cache = make(0, 0);
	touch_all(0, 8);
	start_writer_and_hitter(&writer, &hitter);
	for (i = 0; i < 1000 && ok; i++)
		ok = hits_while_stopped(writer);
	atomic_store(&stop, true);
	sem_post(&go);
	pthread_join(writer, NULL);
	pthread_join(hitter, NULL);
	close(resume[0]);
	close(resume[1]);
	assert_true(ok);
	assert_int_equal(failed, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(threads_share_regions_under_limit),
		TEST(threads_miss_on_disjoint_regions),
		TEST(failed_pin_evicts_idle_and_retries),
		TEST(failed_pins_leak_nothing),
		TEST(entry_limit_16_holds_16_regions),
		TEST(entry_limit_1_holds_1_region),
		TEST(byte_limit_16_regions_holds_16),
		TEST(hit_waits_for_no_pin),
		TEST(hit_waits_for_no_wider_pin),
		TEST(hit_waits_for_no_stopped_writer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
