// SPDX-License-Identifier: MIT
/* A thread that waits in the registration cache: the thread is cancelled, or other threads leave an unpin to it. */
#include <pthread.h>
#include <sched.h>
#include <unistd.h>
#include "lib/cache/cache.h"
#include "cache_regions.h"

static sem_t waits;
static _Atomic(void (*)(void)) before_waiting;	/* called once, before the next wait */

void __real_pp_waiter_sleep(struct pp_waiter *w);
void __wrap_pp_waiter_sleep(struct pp_waiter *w);

void __wrap_pp_waiter_sleep(struct pp_waiter *w)
{
	void (*once)(void) = atomic_exchange(&before_waiting, NULL);

	if (once)
		once();
	sem_post(&waits);
	__real_pp_waiter_sleep(w);
}

static atomic_int busy;	/* number of coming trylocks that fail with EBUSY */

int __real_pthread_mutex_trylock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_trylock(pthread_mutex_t *mutex);

int __wrap_pthread_mutex_trylock(pthread_mutex_t *mutex)
{
	if (atomic_load(&busy) <= 0)
		return __real_pthread_mutex_trylock(mutex);
	atomic_fetch_sub(&busy, 1);
	return EBUSY;
}

static void (*at_fence)(void);	/* called once, at the start of the next fence */

void __real_pp_fence_heavy(struct pp_readers *readers);
void __wrap_pp_fence_heavy(struct pp_readers *readers);

void __wrap_pp_fence_heavy(struct pp_readers *readers)
{
	void (*once)(void) = at_fence;

	at_fence = NULL;
	if (once)
		once();
	__real_pp_fence_heavy(readers);
}

static int setup_here(void **state)
{
	sem_init(&waits, 0, 0);
	atomic_store(&before_waiting, NULL);
	at_fence = NULL;
	alarm(60);
	return setup(state);
}

/* ---- pthread_cancel() --------------------------------------------------------------- */

static void *touch_one(void *arg)
{
	return touch(*(unsigned int *)arg) ? arg : NULL;
}

static void *result_of(pthread_t thread)
{
	void *result;

	assert_int_equal(pthread_join(thread, &result), 0);
	return result;
}

static void cancelled_waiter_keeps_no_lock(void **state)
{
	unsigned int which = 7;
	pthread_t pinner, waiter;

	(void)state;
	cache = make(0, 0);
	slow = which;
	assert_int_equal(pthread_create(&pinner, NULL, touch_one, &which), 0);
	sem_wait(&reached);
	assert_int_equal(pthread_create(&waiter, NULL, touch_one, &which), 0);
	sem_wait(&waits);
	pthread_cancel(waiter);
	sem_post(&gate);
	assert_ptr_equal(result_of(pinner), &which);
	assert_ptr_equal(result_of(waiter), &which);
}

static int cancellable_pin(void *arg, uint64_t addr, uint64_t length, void **reg, struct pp_why *why)
{
	pthread_testcancel();
	return pin(arg, addr, length, reg, why);
}

static void cancellable_unpin(void *arg, void *reg)
{
	pthread_testcancel();
	unpin(arg, reg);
}

static void *use_cancelled(void *arg)
{
	bool ok;

	pthread_cancel(pthread_self());
	ok = touch(0) && touch(1);
	pp_cache_invalidate(cache, region(0), REGION);
	pp_cache_flush(cache);
	ok = ok && touch(0);
	pp_cache_destroy(cache);
	cache = NULL;
	return ok ? arg : NULL;
}

static void no_function_is_a_cancellation_point(void **state)
{
	static const struct pp_cache_ops these = { .pin = cancellable_pin, .unpin = cancellable_unpin };
	pthread_t user;

	(void)state;
	assert_int_equal(pp_cache_create(&these, NULL, NULL, &cache), 0);
	assert_int_equal(pthread_create(&user, NULL, use_cancelled, &cache), 0);
	assert_ptr_equal(result_of(user), &cache);
}

/* ---- unpins left by other threads --------------------------------------------------------- */

static const struct pp_cache_entry *held;
static pthread_t putter;
static atomic_bool was_put;
static int unpins_in_time;

static void *put_held(void *arg)
{
	pp_cache_put(cache, held);
	atomic_store(&was_put, true);
	return arg;
}

/*
 * Put the last reference just before the waiter sleeps. The waiter must unpin before it sleeps: a
 * wake-up may take long.
 */
static void let_another_put(void)
{
	pthread_create(&putter, NULL, put_held, NULL);
	while (!atomic_load(&was_put) && !atomic_load(&unpins))
		sched_yield();
	unpins_in_time = atomic_load(&unpins);
}

static void put_before_wait_unpins_region(void **state)
{
	unsigned int which = 7;
	pthread_t pinner, waiter;

	(void)state;
	cache = make(0, 0);
	assert_int_equal(pp_cache_get(cache, region(0), REGION, &held, NULL), 0);
	pp_cache_invalidate(cache, region(0), REGION);
	assert_int_equal(atomic_load(&unpins), 0);
	slow = which;
	assert_int_equal(pthread_create(&pinner, NULL, touch_one, &which), 0);
	sem_wait(&reached);
	atomic_store(&before_waiting, let_another_put);
	assert_int_equal(pthread_create(&waiter, NULL, touch_one, &which), 0);
	sem_wait(&waits);
	sem_post(&gate);
	assert_null(result_of(putter));
	assert_ptr_equal(result_of(pinner), &which);
	assert_ptr_equal(result_of(waiter), &which);
	assert_int_equal(unpins_in_time, 1);
}

static struct pp_entry *first_entry(void)
{
	return pp_entry_at(&cache->pool, PP_FIRST_ENTRY);
}

static void uncount_first(void)
{
	pp_ref_put(NULL, first_entry(), PP_FIRST_ENTRY);
}

/* A reader took and dropped a reference that it could not use. The reader has not checked the entry's state again. */
static void stale_reference_is_unpinned_at_destroy(void **state)
{
	(void)state;
	cache = make(0, 0);
	assert_int_equal(pp_cache_get(cache, region(0), REGION, &held, NULL), 0);
	pp_ref_get(NULL, first_entry(), PP_FIRST_ENTRY);
	pp_cache_invalidate(cache, region(0), REGION);
	pp_cache_put(cache, held);
	assert_int_equal(atomic_load(&unpins), 0);
	uncount_first();
	pp_cache_destroy(cache);
	cache = NULL;
	assert_int_equal(atomic_load(&unpins), 1);
}

/* A reader that saw the entry before GONE takes a reference. The dropped reference is visible only after a fence. */
static int pin_what_goes(void *arg, uint64_t addr, uint64_t length, void **reg, struct pp_why *why)
{
	pp_ref_get(NULL, first_entry(), PP_FIRST_ENTRY);
	pp_cache_invalidate(cache, region(0), REGION);
	at_fence = uncount_first;
	return pin(arg, addr, length, reg, why);
}

static void invalidated_during_pin_unpins_at_put(void **state)
{
	static const struct pp_cache_ops these = { .pin = pin_what_goes, .unpin = unpin };

	(void)state;
	assert_int_equal(pp_cache_create(&these, NULL, NULL, &cache), 0);
	touch_all(0, 1);
	assert_int_equal(atomic_load(&unpins), 1);
}

/* ---- pp_cache_invalidate() ------------------------------------------------------------- */

static void unpin_at_gate(void *arg, void *reg)
{
	sem_post(&reached);
	sem_wait(&gate);
	unpin(arg, reg);
}

static void *flush(void *arg)
{
	pp_cache_flush(cache);
	return arg;
}

static atomic_bool returned;

static void *invalidate(void *arg)
{
	pp_cache_invalidate(cache, region(0), REGION);
	atomic_store(&returned, true);
	return arg;
}

static void invalidate_waits_for_other_unpin(void **state)
{
	static const struct pp_cache_ops these = { .pin = pin, .unpin = unpin_at_gate };
	pthread_t flusher, other;
	bool early;

	(void)state;
	assert_int_equal(pp_cache_create(&these, NULL, NULL, &cache), 0);
	touch_all(0, 1);
	assert_int_equal(pthread_create(&flusher, NULL, flush, NULL), 0);
	sem_wait(&reached);
	/* Invalidating another range does not wait. */
	pp_cache_invalidate(cache, region(1), REGION);
	assert_int_equal(pthread_create(&other, NULL, invalidate, NULL), 0);
	while (!atomic_load(&returned) && sem_trywait(&waits))
		sched_yield();
	early = atomic_load(&returned);
	sem_post(&gate);
	assert_null(result_of(flusher));
	assert_null(result_of(other));
	assert_false(early);
}

/*
 * A wider region replaced the narrow region, and then the wide region was flushed. At the last put
 * of the narrow region (two tries) and at the unlock, trylock fails, as if another thread held the
 * lock. So the narrow region stays pinned until the invalidation.
 */
static void invalidate_unpins_replaced_region(void **state)
{
	const struct pp_cache_entry *narrow, *wide;

	(void)state;
	cache = make(0, 0);
	assert_int_equal(pp_cache_get(cache, region(1), REGION, &narrow, NULL), 0);
	assert_int_equal(pp_cache_get(cache, region(0), 2 * REGION, &wide, NULL), 0);
	pp_cache_put(cache, wide);
	pp_cache_flush(cache);
	atomic_store(&busy, 3);
	pp_cache_put(cache, narrow);
	assert_int_equal(atomic_load(&busy), 1);
	assert_int_equal(atomic_load(&unpins), 1);
	pp_cache_invalidate(cache, region(1), REGION);
	assert_int_equal(atomic_load(&unpins), 2);
	atomic_store(&busy, 0);
}

/* The unpin frees memory. A memory hook then invalidates all addresses. */
static void unpin_and_tell(void *arg, void *reg)
{
	pp_cache_invalidate(cache, NULL, SIZE_MAX);
	unpin(arg, reg);
}

static void unpin_may_call_invalidate(void **state)
{
	static const struct pp_cache_ops these = { .pin = pin, .unpin = unpin_and_tell };

	(void)state;
	assert_int_equal(pp_cache_create(&these, NULL, NULL, &cache), 0);
	touch_all(0, 4);
	pp_cache_flush(cache);
	assert_int_equal(atomic_load(&unpins), 4);
}

/* ---- pins and unpins that end while another thread holds the lock -------------------------- */

static void *touch_slow(void *arg)
{
	return touch(slow) ? arg : NULL;
}

/* Another thread gets region @n; its pin ends while this thread holds the lock. @meanwhile: called before that end, or NULL */
static void pin_ends_under_lock(int n, void (*meanwhile)(void))
{
	pthread_t pinner;

	slow = n;
	assert_int_equal(pthread_create(&pinner, NULL, touch_slow, &slow), 0);
	sem_wait(&reached);
	if (meanwhile)
		meanwhile();
	pp_cache_lock(cache);
	sem_post(&gate);
	assert_ptr_equal(result_of(pinner), &slow);
	pp_cache_unlock(cache, NULL);
}

static void get_does_not_wait_for_lock_after_pin(void **state)
{
	(void)state;
	cache = make(0, 0);
	pin_ends_under_lock(7, NULL);
	assert_int_equal(pp_entry_state(first_entry()), PP_LIVE);
	assert_true(touch(7));
	assert_int_equal(stats().hits, 1);
	assert_int_equal(stats().pins, 1);
}

/* Leaves the lock held. */
static void unpin_ends_under_lock(void)
{
	static const struct pp_cache_ops these = { .pin = pin, .unpin = unpin_at_gate };
	pthread_t flusher;

	assert_int_equal(pp_cache_create(&these, NULL, NULL, &cache), 0);
	touch_all(0, 1);
	assert_int_equal(pthread_create(&flusher, NULL, flush, NULL), 0);
	sem_wait(&reached);
	pp_cache_lock(cache);
	sem_post(&gate);
	assert_null(result_of(flusher));
}

static void unpin_does_not_wait_for_lock(void **state)
{
	(void)state;
	unpin_ends_under_lock();
	pp_cache_unlock(cache, NULL);
	assert_int_equal(stats().unpins, 1);
	assert_int_equal(pp_entry_state(first_entry()), PP_FREE);
}

static void wait_for_ended_unpin_ends(void **state)
{
	(void)state;
	unpin_ends_under_lock();
	pp_cache_wait(cache, first_entry());
	pp_cache_unlock(cache, NULL);
	assert_int_equal(stats().unpins, 1);
}

static void forget_7(void)
{
	pp_cache_invalidate(cache, region(7), REGION);
}

/* The region is put before it becomes GONE. */
static void region_forgotten_during_pin_is_unpinned(void **state)
{
	(void)state;
	cache = make(0, 0);
	pin_ends_under_lock(7, forget_7);
	assert_int_equal(atomic_load(&unpins), 1);
}

static void hold_0(void)
{
	assert_int_equal(pp_cache_get(cache, region(0), REGION, &held, NULL), 0);
}

/* Region 7 is put before it becomes LIVE, so only the unlock can evict it. */
static void budget_holds_after_pin(void **state)
{
	(void)state;
	cache = make(1, 0);
	pin_ends_under_lock(7, hold_0);
	assert_int_equal(atomic_load(&pinned[7]), 0);
	assert_int_equal(stats().entries, 1);
	pp_cache_put(cache, held);
}

#define TEST_HERE(f) cmocka_unit_test_setup_teardown(f, setup_here, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_HERE(cancelled_waiter_keeps_no_lock),
		TEST_HERE(no_function_is_a_cancellation_point),
		TEST_HERE(put_before_wait_unpins_region),
		TEST_HERE(stale_reference_is_unpinned_at_destroy),
		TEST_HERE(invalidated_during_pin_unpins_at_put),
		TEST_HERE(invalidate_waits_for_other_unpin),
		TEST_HERE(invalidate_unpins_replaced_region),
		TEST_HERE(unpin_may_call_invalidate),
		TEST_HERE(get_does_not_wait_for_lock_after_pin),
		TEST_HERE(unpin_does_not_wait_for_lock),
		TEST_HERE(wait_for_ended_unpin_ends),
		TEST_HERE(region_forgotten_during_pin_is_unpinned),
		TEST_HERE(budget_holds_after_pin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
