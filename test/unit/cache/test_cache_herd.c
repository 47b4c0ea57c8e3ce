// SPDX-License-Identifier: MIT
/*
 * Many threads in the registration cache: an event wakes only the threads that wait for it, and ended threads
 * leave nothing behind.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "lib/cache/cache.h"
#include "cache_regions.h"

/* ---- waits ------------------------------------------------------------------------------ */

enum { EVENTS = 50 };

/* @sleeps: how often the thread slept during @wait */
struct waiter {
	void (*wait)(void);
	_Atomic pid_t tid;
	long sleeps;
};

static long sleeps_here(void)
{
	struct rusage r;

	assert_int_equal(getrusage(RUSAGE_THREAD, &r), 0);
	return r.ru_nvcsw;
}

static void *wait_here(void *arg)
{
	struct waiter *w = arg;
	long before = sleeps_here();

	atomic_store(&w->tid, (pid_t)syscall(SYS_gettid));
	w->wait();
	w->sleeps = sleeps_here() - before;
	return NULL;
}

static char state_of(pid_t tid)
{
	char path[64], state = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	f = fopen(path, "r");
	assert_non_null(f);
	assert_int_equal(fscanf(f, "%*d (%*[^)]) %c", &state), 1);
	fclose(f);
	return state;
}

/* A thread that was woken is runnable at once, so a thread found asleep has not been woken since it fell asleep. */
static void until_asleep(const struct waiter *w)
{
	while (!atomic_load(&w->tid) || state_of(w->tid) != 'S')
		sched_yield();
}

/* Each of the events ends a pin and an unpin of another region. */
static void make_events(const struct waiter *w)
{
	unsigned int i;

	for (i = 0; i < EVENTS; i++) {
		until_asleep(w);
		touch_all(100 + i, 1);
		pp_cache_invalidate(cache, region(100 + i), REGION);
	}
	until_asleep(w);
}

static void get_7(void)
{
	assert_true(touch(7));
}

static void *get_7_in_thread(void *unused)
{
	get_7();
	return unused;
}

static void other_pins_wake_no_waiter(void **state)
{
	struct waiter w = { .wait = get_7 };
	pthread_t pinner, waiter;

	(void)state;
	cache = make(0, 0);
	slow = 7;
	assert_int_equal(pthread_create(&pinner, NULL, get_7_in_thread, NULL), 0);
	sem_wait(&reached);
	assert_int_equal(pthread_create(&waiter, NULL, wait_here, &w), 0);
	make_events(&w);
	sem_post(&gate);
	pthread_join(pinner, NULL);
	pthread_join(waiter, NULL);
	assert_in_range(w.sleeps, 1, EVENTS / 5);
}

static void unpin_7_at_gate(void *arg, void *reg)
{
	if (reg == &pinned[7]) {
		sem_post(&reached);
		sem_wait(&gate);
	}
	unpin(arg, reg);
}

static void invalidate_7(void)
{
	pp_cache_invalidate(cache, region(7), REGION);
}

static void *invalidate_7_in_thread(void *unused)
{
	invalidate_7();
	return unused;
}

static void other_unpins_wake_no_waiter(void **state)
{
	static const struct pp_cache_ops these = { .pin = pin, .unpin = unpin_7_at_gate };
	struct waiter w = { .wait = invalidate_7 };
	pthread_t unpinner, waiter;

	(void)state;
	assert_int_equal(pp_cache_create(&these, NULL, NULL, &cache), 0);
	get_7();
	assert_int_equal(pthread_create(&unpinner, NULL, invalidate_7_in_thread, NULL), 0);
	sem_wait(&reached);
	assert_int_equal(pthread_create(&waiter, NULL, wait_here, &w), 0);
	make_events(&w);
	sem_post(&gate);
	pthread_join(unpinner, NULL);
	pthread_join(waiter, NULL);
	assert_in_range(w.sleeps, 1, EVENTS / 5);
}

static void *get_10_in_thread(void *unused)
{
	assert_true(touch(10));
	return unused;
}

/* Each of two misses evicts a region. The second miss has unpinned its region, so it needs no other room. */
static void miss_waits_for_no_other_unpin(void **state)
{
	static const struct pp_cache_ops these = { .pin = pin, .unpin = unpin_7_at_gate };
	const struct pp_cache_attr attr = { .max_entries = 4 };
	pthread_t other;

	(void)state;
	assert_int_equal(pp_cache_create(&these, NULL, &attr, &cache), 0);
	get_7();
	touch_all(0, 3);
	assert_int_equal(pthread_create(&other, NULL, get_10_in_thread, NULL), 0);
	sem_wait(&reached);
	touch_all(11, 1);
	assert_int_equal(atomic_load(&pins) - atomic_load(&unpins), 4);
	assert_int_equal(atomic_load(&pinned[7]), 1);
	sem_post(&gate);
	pthread_join(other, NULL);
	assert_int_equal(atomic_load(&pins) - atomic_load(&unpins), 4);
}

static void evicted_region_is_pinned_once(void **state)
{
	static const struct pp_cache_ops these = { .pin = pin, .unpin = unpin_7_at_gate };
	const struct pp_cache_attr attr = { .max_entries = 4 };
	struct waiter w = { .wait = get_7 };
	pthread_t other, waiter;

	(void)state;
	assert_int_equal(pp_cache_create(&these, NULL, &attr, &cache), 0);
	get_7();
	touch_all(0, 3);
	assert_int_equal(pthread_create(&other, NULL, get_10_in_thread, NULL), 0);
	sem_wait(&reached);
	assert_int_equal(pthread_create(&waiter, NULL, wait_here, &w), 0);
	make_events(&w);
	sem_post(&gate);
	pthread_join(other, NULL);
	pthread_join(waiter, NULL);
	assert_in_range(w.sleeps, 1, EVENTS / 5);
	assert_int_equal(atomic_load(&pinned[7]), 1);
	sem_post(&gate);	/* for the unpin at the end */
}

static void get_11(void)
{
	assert_true(touch(11));
}

/* The unpin of region 7 does not end. The put of region 1 makes the room that the second miss waits for. */
static void room_of_one_unpin_ends_wait(void **state)
{
	static const struct pp_cache_ops these = { .pin = pin, .unpin = unpin_7_at_gate };
	const struct pp_cache_attr attr = { .max_entries = 2 };
	const struct pp_cache_entry *one;
	struct waiter w = { .wait = get_11 };
	pthread_t evictor, waiter;

	(void)state;
	assert_int_equal(pp_cache_create(&these, NULL, &attr, &cache), 0);
	get_7();
	assert_int_equal(pp_cache_get(cache, region(1), REGION, &one, NULL), 0);
	assert_int_equal(pthread_create(&evictor, NULL, get_10_in_thread, NULL), 0);
	sem_wait(&reached);
	assert_int_equal(pthread_create(&waiter, NULL, wait_here, &w), 0);
	until_asleep(&w);
	assert_int_equal(atomic_load(&pinned[11]), 0);
	pp_cache_put(cache, one);
	pthread_join(waiter, NULL);
	assert_int_equal(atomic_load(&pinned[7]), 1);
	sem_post(&gate);
	pthread_join(evictor, NULL);
	assert_int_equal(atomic_load(&cache->pinned), stats().entries);
}

/* ---- threads that came and went ----------------------------------------------------------- */

enum { CROWD = 256 };

static pthread_t crowd[CROWD];
static pthread_barrier_t all_there;
static sem_t may_end;
static atomic_uint arrived;

/* Each thread of the crowd uses the cache once. The references that it holds at its end are put by others. */
static void *use_once(void *entry)
{
	const struct pp_cache_entry **out = entry;

	if (pp_cache_get(cache, region(atomic_fetch_add(&arrived, 1)), REGION, out, NULL))
		*out = NULL;
	pthread_barrier_wait(&all_there);
	sem_wait(&may_end);
	return NULL;
}

static const struct pp_cache_entry *held[CROWD];

static void crowd_begin(void)
{
	unsigned int i;

	atomic_store(&arrived, 0);
	sem_init(&may_end, 0, 0);
	assert_int_equal(pthread_barrier_init(&all_there, NULL, CROWD + 1), 0);
	for (i = 0; i < CROWD; i++)
		assert_int_equal(pthread_create(&crowd[i], NULL, use_once, &held[i]), 0);
	pthread_barrier_wait(&all_there);
}

static void crowd_end(void)
{
	unsigned int i;

	for (i = 0; i < CROWD; i++)
		sem_post(&may_end);
	for (i = 0; i < CROWD; i++)
		pthread_join(crowd[i], NULL);
	sem_destroy(&may_end);
	pthread_barrier_destroy(&all_there);
}

static unsigned int put_all(void)
{
	unsigned int i, missing = 0;

	for (i = 0; i < CROWD; i++) {
		if (held[i])
			pp_cache_put(cache, held[i]);
		else
			missing++;
	}
	return missing;
}

static unsigned int readers(void)
{
	struct pp_reader *r = atomic_load(&cache->readers.first);
	unsigned int n = 0;

	for (; r; r = r->next)
		n++;
	return n;
}

static void ended_threads_leave_no_reader(void **state)
{
	(void)state;
	cache = make(0, 0);
	crowd_begin();
	assert_int_equal(readers(), CROWD);
	crowd_end();
	touch_all(1000, 1);
	pp_cache_invalidate(cache, region(1000), REGION);
	assert_int_equal(readers(), 1);
	assert_int_equal(put_all(), 0);
	assert_int_equal(stats().hits, 0);
}

static void references_of_ended_threads_count(void **state)
{
	(void)state;
	cache = make(0, 0);
	crowd_begin();
	crowd_end();
	pp_cache_invalidate(cache, NULL, SIZE_MAX);
	pp_cache_flush(cache);
	assert_int_equal(atomic_load(&unpins), 0);
	assert_int_equal(put_all(), 0);
	assert_int_equal(atomic_load(&unpins), CROWD);
}

static void hits_of_ended_threads_count(void **state)
{
	(void)state;
	cache = make(0, 0);
	touch_all(0, CROWD);
	crowd_begin();
	assert_int_equal(put_all(), 0);
	crowd_end();
	pp_cache_invalidate(cache, region(0), REGION);
	assert_int_equal(stats().hits, CROWD);
}

static int setup_here(void **state)
{
	alarm(60);
	return setup(state);
}

#define TEST_HERE(f) cmocka_unit_test_setup_teardown(f, setup_here, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_HERE(other_pins_wake_no_waiter),
		TEST_HERE(other_unpins_wake_no_waiter),
		TEST_HERE(miss_waits_for_no_other_unpin),
		TEST_HERE(evicted_region_is_pinned_once),
		TEST_HERE(room_of_one_unpin_ends_wait),
		TEST_HERE(ended_threads_leave_no_reader),
		TEST_HERE(references_of_ended_threads_count),
		TEST_HERE(hits_of_ended_threads_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
