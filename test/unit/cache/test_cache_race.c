// SPDX-License-Identifier: MIT
/*
 * One thread hits a region while another thread flushes or invalidates it, without pause. Without
 * the barrier the CPU may reorder a store of one thread and a load of the other. Then the region is
 * unpinned while in use, and this test fails within a second.
 *
 *	test_cache_race [SECONDS]
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include "libpeerpin.h"
#include "test/unit/check.h"
#include "test/unit/unit.h"

enum {
	REGS = 1024,
	LENGTH = 4096,
};

#define REGION ((void *)0x7000000000)

/** struct reg - a registration; @serial is odd while the registration is pinned */
struct reg {
	atomic_uint serial;
};

static struct pp_cache *cache;
static struct reg regs[REGS];
static atomic_ulong pins, unpins, got;
static double seconds = 0.5;	/* duration of each case */

static int pin(void *arg, uint64_t addr, uint64_t length, void **reg, struct pp_why *why)
{
	struct reg *r = &regs[atomic_fetch_add(&pins, 1) % REGS];

	(void)arg;
	(void)addr;
	(void)length;
	(void)why;
	CHECK(!(atomic_fetch_add(&r->serial, 1) & 1));
	*reg = r;
	return 0;
}

static void unpin(void *arg, void *reg)
{
	struct reg *r = reg;

	(void)arg;
	CHECK(atomic_fetch_add(&r->serial, 1) & 1);
	atomic_fetch_add(&unpins, 1);
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

static atomic_bool stop;

/* Watch a registration in use. A thread that wrongly sees it unused has time to unpin it. */
static void watch(const struct reg *r)
{
	unsigned int serial = atomic_load(&r->serial), i;

	for (i = 0; i < 30; i++)
		CHECK(atomic_load(&r->serial) == serial && serial & 1);
}

/* Wait usually as long as watch(), sometimes longer than a system call of the other thread. */
static void rest(unsigned int n)
{
	unsigned int i;

	for (i = 0; i < (n % 16 ? 30 : 3000); i++)
		atomic_load(&stop);
}

static void *hit_it(void *arg)
{
	const struct pp_cache_entry *e;
	unsigned int n = 0;

	(void)arg;
	while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
		if (pp_cache_get(cache, REGION, LENGTH, &e, NULL))
			continue;
		atomic_fetch_add_explicit(&got, 1, memory_order_relaxed);
		watch(e->reg);
		pp_cache_put(cache, e);
		rest(n++);
	}
	return NULL;
}

/* Wait for @count hits. By then a miss has taken and released the lock. */
static void await_hits(unsigned int count)
{
	unsigned long until = atomic_load(&got) + count;

	while (atomic_load(&got) < until)
		rest(1);
}

static void flush(void)
{
	pp_cache_flush(cache);
}

static void invalidate(void)
{
	pp_cache_invalidate(cache, REGION, LENGTH);
}

static const struct pp_cache_ops ops = { .pin = pin, .unpin = unpin };

static void take_it_away(void (*how)(void))
{
	double end = now() + seconds;
	pthread_t hitter;
	unsigned int i;

	assert_int_equal(pp_cache_create(&ops, NULL, NULL, &cache), 0);
	atomic_store(&pins, 0);
	atomic_store(&unpins, 0);
	atomic_store(&got, 0);
	atomic_store(&stop, false);
	assert_int_equal(pthread_create(&hitter, NULL, hit_it, NULL), 0);
	do {
		for (i = 0; i < 100; i++) {
			await_hits(i % 8);
			how();
		}
	} while (now() < end);
	atomic_store(&stop, true);
	pthread_join(hitter, NULL);
	pp_cache_destroy(cache);
	CHECK(atomic_load(&pins) == atomic_load(&unpins) && atomic_load(&pins) > 1);
}

static void flush_never_unpins_used_region(void **state)
{
	(void)state;
	take_it_away(flush);
}

static void invalidate_never_unpins_used_region(void **state)
{
	(void)state;
	take_it_away(invalidate);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(flush_never_unpins_used_region),
		cmocka_unit_test(invalidate_never_unpins_used_region),
	};

	if (argc > 1)
		seconds = strtod(argv[1], NULL) / (sizeof(tests) / sizeof(tests[0]));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
