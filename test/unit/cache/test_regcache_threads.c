// SPDX-License-Identifier: MIT
/*
 * Threads wait for each other in the registration cache. A gate blocks the pins or the unpins of
 * one page until the test opens the gate.
 */
#include <errno.h>
#include <semaphore.h>
#include <time.h>
#include "lib/cache/cache.h"
#include "test/unit/mock/mock_memory.h"
#include "test/unit/unit.h"

enum {
	SLOW = 16,		/* page whose pins or unpins wait at the gate */
	THREADS = 4,
};

struct getter {
	pthread_t thread;
	unsigned int page;
	unsigned int count;
	int ret;
	const struct pp_cache_entry *entry;
};

static struct mock_memory mem;
static struct pp_cache *cache;
static sem_t gate, reached;

static void at_gate(uint64_t addr)
{
	if (mock_page_of(addr) != SLOW)
		return;
	sem_post(&reached);
	sem_wait(&gate);
}

static void slow_pin(uint64_t addr, uint64_t length)
{
	(void)length;
	at_gate(addr);
}

static int setup(void **state)
{
	(void)state;
	mock_memory_init(&mem);
	mock_alloc(&mem, 0, MOCK_PAGES);
	sem_init(&gate, 0, 0);
	sem_init(&reached, 0, 0);
	return pp_cache_create(&mock_host_ops, &mem, NULL, &cache);
}

/* At rest, registrations count once against each limit. */
static void check_room(void)
{
	struct pp_cache_stats s;

	pp_cache_stats(cache, &s);
	assert_int_equal(atomic_load(&cache->pinned), cache->attr.max_entries ? s.entries : 0);
	assert_int_equal(atomic_load(&cache->pinned_bytes), cache->attr.max_bytes ? s.bytes : 0);
}

static int teardown(void **state)
{
	(void)state;
	if (cache->attr.max_bytes || cache->attr.max_entries)
		check_room();
	pp_cache_destroy(cache);
	assert_int_equal(mem.pins, mem.unpins);
	assert_true(LIST_EMPTY(&mem.live));
	mock_memory_destroy(&mem);
	sem_destroy(&gate);
	sem_destroy(&reached);
	return 0;
}

static void use(const struct pp_cache_ops *ops, uint64_t max_pages)
{
	const struct pp_cache_attr attr = {
		.max_bytes = max_pages * MOCK_PAGE,
	};

	pp_cache_destroy(cache);
	assert_int_equal(pp_cache_create(ops, &mem, &attr, &cache), 0);
}

static void *get_thread(void *arg)
{
	struct getter *g = arg;

	g->ret = pp_cache_get(cache, mock_at(g->page), g->count * MOCK_PAGE,
			      &g->entry, NULL);
	return NULL;
}

static void start(struct getter *g, unsigned int page, unsigned int count)
{
	*g = (struct getter){ .page = page, .count = count };
	assert_int_equal(pthread_create(&g->thread, NULL, get_thread, g), 0);
}

static int finish(struct getter *g)
{
	pthread_join(g->thread, NULL);
	if (!g->ret)
		pp_cache_put(cache, g->entry);
	return g->ret;
}

static void *put_thread(void *entry)
{
	pp_cache_put(cache, entry);
	return NULL;
}

static int get(unsigned int page, unsigned int count)
{
	struct getter g = { .page = page, .count = count };

	get_thread(&g);
	if (!g.ret)
		pp_cache_put(cache, g.entry);
	return g.ret;
}

static uint64_t stats_evictions(void)
{
	struct pp_cache_stats s;

	pp_cache_stats(cache, &s);
	return s.evictions;
}

/* Give other threads time to reach the point at which they wait. */
static void settle(void)
{
	const struct timespec ts = { .tv_nsec = 50000000 };

	nanosleep(&ts, NULL);
}

static void same_range_pins_once(void **state)
{
	struct getter g[THREADS];
	int i;

	(void)state;
	mem.on_pin = slow_pin;
	for (i = 0; i < THREADS; i++)
		start(&g[i], SLOW, 2);
	sem_wait(&reached);
	settle();
	sem_post(&gate);
	for (i = 0; i < THREADS; i++)
		assert_int_equal(finish(&g[i]), 0);
	assert_int_equal(mem.pins, 1);
	assert_ptr_equal(g[0].entry, g[1].entry);
}

static void slow_pin_delays_no_other_range(void **state)
{
	struct getter g;

	(void)state;
	mem.on_pin = slow_pin;
	start(&g, SLOW, 2);
	sem_wait(&reached);
	assert_int_equal(get(0, 4), 0);
	assert_int_equal(get(0, 4), 0);
	pp_cache_invalidate(cache, mock_at(0), MOCK_PAGE);
	assert_int_equal(get(0, 4), 0);
	pp_cache_flush(cache);
	sem_post(&gate);
	assert_int_equal(finish(&g), 0);
}

static void overlapping_miss_waits_and_merges(void **state)
{
	struct getter a, b;

	(void)state;
	mem.on_pin = slow_pin;
	start(&a, SLOW, 4);
	sem_wait(&reached);
	start(&b, SLOW + 2, 4);
	settle();
	assert_int_equal(mem.attempts, 0);
	sem_post(&gate);
	sem_post(&gate);	/* for the pin of the union, which begins at the same page */
	assert_int_equal(finish(&a), 0);
	assert_int_equal(finish(&b), 0);
	assert_int_equal(mem.pins, 2);
	assert_int_equal(get(SLOW, 6), 0);
	assert_int_equal(mem.pins, 2);
}

static void waiters_retry_after_failed_pin(void **state)
{
	struct getter a, b;

	(void)state;
	mem.on_pin = slow_pin;
	mem.fail = -EPERM;
	mem.fail_count = 1;
	start(&a, SLOW, 2);
	sem_wait(&reached);
	start(&b, SLOW, 2);
	settle();
	sem_post(&gate);
	sem_post(&gate);
	assert_int_equal(finish(&a), -EPERM);
	assert_int_equal(finish(&b), 0);
	assert_int_equal(mem.pins, 1);
}

/* The memory was freed and allocated again during the pin. */
static void invalidated_pending_pin_is_replaced(void **state)
{
	struct getter a, b;

	(void)state;
	mem.on_pin = slow_pin;
	start(&a, SLOW, 2);
	sem_wait(&reached);
	pp_cache_invalidate(cache, mock_at(SLOW), MOCK_PAGE);
	start(&b, SLOW, 2);
	sem_wait(&reached);	/* the second thread does not wait for the first */
	sem_post(&gate);
	sem_post(&gate);
	assert_int_equal(finish(&a), 0);
	assert_int_equal(finish(&b), 0);
	assert_int_equal(mem.pins, 2);
	assert_int_equal(mem.unpins, 1);
}

static void invalidate_survives_failing_pin(void **state)
{
	struct getter g;

	(void)state;
	assert_int_equal(get(0, 1), 0);
	mem.on_pin = slow_pin;
	start(&g, SLOW, 2);
	sem_wait(&reached);
	pp_cache_invalidate(cache, mock_at(SLOW), MOCK_PAGE);
	assert_int_equal(get(SLOW + 4, 1), 0);
	mem.fail = -EPERM;
	mem.fail_count = 1;
	sem_post(&gate);
	assert_int_equal(finish(&g), -EPERM);
	assert_int_equal(get(0, 1), 0);
	assert_int_equal(get(SLOW + 4, 1), 0);
	assert_int_equal(mem.pins, 2);
}

static void parts_of_one_allocation_pin_once(void **state)
{
	struct getter a, b;

	(void)state;
	use(&mock_gpu_ops, 0);
	mock_alloc(&mem, SLOW, 16);
	mem.on_pin = slow_pin;
	start(&a, SLOW, 1);
	sem_wait(&reached);
	start(&b, SLOW + 8, 1);
	settle();
	sem_post(&gate);
	sem_post(&gate);
	assert_int_equal(finish(&a), 0);
	assert_int_equal(finish(&b), 0);
	assert_int_equal(mem.pins, 1);
}

static bool is_valid(const struct pp_cache_entry *e)
{
	return atomic_load(&((struct mock_reg *)e->reg)->valid);
}

/* The revocation comes after the first thread's pin and before the waiters wake. */
static void waiter_replaces_revoked_pin(void **state)
{
	struct getter a, b;

	(void)state;
	mem.on_pinned = at_gate;
	start(&a, SLOW, 2);
	sem_wait(&reached);
	start(&b, SLOW, 2);
	settle();
	mem.on_pinned = NULL;
	mock_alloc(&mem, SLOW, 2);
	sem_post(&gate);
	pthread_join(b.thread, NULL);
	pthread_join(a.thread, NULL);
	assert_int_equal(a.ret, 0);
	assert_int_equal(b.ret, 0);
	assert_true(is_valid(b.entry));
	assert_int_equal(mem.pins, 2);
	pp_cache_put(cache, a.entry);
	pp_cache_put(cache, b.entry);
	assert_int_equal(get(SLOW, 2), 0);
	assert_int_equal(mem.pins, 2);
	assert_int_equal(mem.unpins, 1);
}

static void revocation_after_wait_is_seen(void **state)
{
	struct getter a, b;

	(void)state;
	mem.on_pin = slow_pin;
	start(&a, SLOW, 2);
	sem_wait(&reached);
	start(&b, SLOW, 2);
	settle();
	mem.on_pin = NULL;
	sem_post(&gate);
	pthread_join(a.thread, NULL);
	pthread_join(b.thread, NULL);
	assert_ptr_equal(a.entry, b.entry);
	mock_alloc(&mem, SLOW, 2);
	assert_int_equal(get(SLOW, 2), 0);
	assert_int_equal(mem.pins, 2);
	assert_int_equal(mem.unpins, 0);
	pp_cache_put(cache, a.entry);
	pp_cache_put(cache, b.entry);
	assert_int_equal(mem.unpins, 1);
}

/* Memory that another thread is unpinning counts as free. */
static void shortage_waits_for_running_unpins(void **state)
{
	const struct pp_cache_entry *e;
	struct getter g;
	pthread_t putter;

	(void)state;
	mem.capacity = 4 * MOCK_PAGE;
	assert_int_equal(pp_cache_get(cache, mock_at(SLOW), 4 * MOCK_PAGE, &e,
				      NULL), 0);
	pp_cache_invalidate(cache, mock_at(SLOW), MOCK_PAGE);
	mem.on_unpin = at_gate;
	pthread_create(&putter, NULL, put_thread, (void *)(uintptr_t)e);
	sem_wait(&reached);
	start(&g, 0, 4);
	settle();
	sem_post(&gate);
	pthread_join(putter, NULL);
	assert_int_equal(finish(&g), 0);
}

/* Memory counts against the budget until its unpin has ended. */
static void budget_waits_for_running_unpins(void **state)
{
	struct getter a, b;

	(void)state;
	use(&mock_host_ops, 4);
	assert_int_equal(get(SLOW, 4), 0);
	mem.on_unpin = at_gate;
	start(&a, 0, 4);	/* blocks in its eviction */
	sem_wait(&reached);
	start(&b, 8, 4);
	settle();
	assert_int_equal(mem.pins, 1);
	sem_post(&gate);
	assert_int_equal(finish(&a), 0);
	assert_int_equal(finish(&b), 0);
}

static void entries_being_unpinned_count(void **state)
{
	const struct pp_cache_attr attr = { .max_entries = 1 };
	struct getter a, b;

	(void)state;
	pp_cache_destroy(cache);
	assert_int_equal(pp_cache_create(&mock_host_ops, &mem, &attr, &cache), 0);
	assert_int_equal(get(SLOW, 4), 0);
	mem.on_unpin = at_gate;
	start(&a, 0, 4);	/* blocks in its eviction */
	sem_wait(&reached);
	start(&b, 8, 4);
	settle();
	assert_int_equal(mem.pins, 1);
	sem_post(&gate);
	assert_int_equal(finish(&a), 0);
	assert_int_equal(finish(&b), 0);
}

static atomic_bool stop;

static void *use_buffers(void *arg)
{
	(void)arg;
	while (!atomic_load(&stop)) {
		get(0, 1);
		get(2, 1);
	}
	return NULL;
}

static void pause_before_large_pins(uint64_t addr, uint64_t length)
{
	const struct timespec ts = { .tv_nsec = 100000 };

	(void)addr;
	if (length > 100 * MOCK_PAGE)
		nanosleep(&ts, NULL);
}

/* A get that can never succeed must fail, whatever other threads do. */
static void hopeless_get_fails(void **state)
{
	pthread_t other;
	int i;

	(void)state;
	atomic_store(&stop, false);
	mem.capacity = 50 * MOCK_PAGE;
	mem.on_pin = pause_before_large_pins;
	pthread_create(&other, NULL, use_buffers, NULL);
	for (i = 0; i < 10; i++)
		assert_int_equal(get(20, 200), -ENOMEM);
	atomic_store(&stop, true);
	pthread_join(other, NULL);
	assert_in_range(stats_evictions(), 0, 20);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(same_range_pins_once),
		TEST(slow_pin_delays_no_other_range),
		TEST(overlapping_miss_waits_and_merges),
		TEST(waiters_retry_after_failed_pin),
		TEST(invalidated_pending_pin_is_replaced),
		TEST(invalidate_survives_failing_pin),
		TEST(parts_of_one_allocation_pin_once),
		TEST(waiter_replaces_revoked_pin),
		TEST(revocation_after_wait_is_seen),
		TEST(shortage_waits_for_running_unpins),
		TEST(budget_waits_for_running_unpins),
		TEST(entries_being_unpinned_count),
		TEST(hopeless_get_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
