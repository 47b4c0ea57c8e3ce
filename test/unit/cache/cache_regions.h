/* SPDX-License-Identifier: MIT */
/* Mock regions that count their registrations. Each case has a new cache of these regions. */
#ifndef CACHE_REGIONS_H
#define CACHE_REGIONS_H

#include <errno.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include "libpeerpin.h"
#include "test/unit/unit.h"

enum {
	MANY = 100000,		/* maximum number of regions */
	REGION = 65536,
};

#define BASE 0x7000000000ull

static atomic_int pinned[MANY];	/* current registrations of each region */
static atomic_int pins, unpins;
static atomic_int twice;	/* number of double registrations and double unpins */
static atomic_uint last_unpinned;
static int room;		/* maximum number of pinned regions; 0: any number */
static sem_t gate, reached;
static int slow = -1;		/* region whose pin waits at the gate; -1: none */
static struct pp_cache *cache;

static inline unsigned int region_of(uint64_t addr)
{
	return (addr - BASE) / REGION;
}

static inline void *region(unsigned int n)
{
	return (void *)(uintptr_t)(BASE + (uint64_t)n * REGION);
}

static inline int pin(void *arg, uint64_t addr, uint64_t length, void **reg, struct pp_why *why)
{
	unsigned int n = region_of(addr);

	(void)arg;
	(void)length;
	(void)why;
	if ((int)n == slow) {
		sem_post(&reached);
		sem_wait(&gate);
	}
	if (room && atomic_load(&pins) - atomic_load(&unpins) >= room)
		return -ENOMEM;
	atomic_fetch_add(&pins, 1);
	if (atomic_fetch_add(&pinned[n], 1))
		atomic_fetch_add(&twice, 1);
	*reg = &pinned[n];
	return 0;
}

static inline void unpin(void *arg, void *reg)
{
	atomic_int *count = reg;

	(void)arg;
	atomic_fetch_add(&unpins, 1);
	if (atomic_fetch_sub(count, 1) != 1)
		atomic_fetch_add(&twice, 1);
	atomic_store(&last_unpinned, count - pinned);
}

static const struct pp_cache_ops ops = { .pin = pin, .unpin = unpin };

static inline struct pp_cache *make(uint64_t max_entries, uint64_t max_bytes)
{
	const struct pp_cache_attr attr = { .max_bytes = max_bytes, .max_entries = max_entries };
	struct pp_cache *c;

	assert_int_equal(pp_cache_create(&ops, NULL, &attr, &c), 0);
	return c;
}

static inline int setup(void **state)
{
	(void)state;
	atomic_store(&pins, 0);
	atomic_store(&unpins, 0);
	atomic_store(&twice, 0);
	room = 0;
	slow = -1;
	sem_init(&gate, 0, 0);
	sem_init(&reached, 0, 0);
	return 0;
}

static inline int teardown(void **state)
{
	(void)state;
	pp_cache_destroy(cache);
	cache = NULL;
	assert_int_equal(atomic_load(&pins), atomic_load(&unpins));
	assert_int_equal(atomic_load(&twice), 0);
	return 0;
}

/* Get and put region @n, in any thread. True if the region is registered exactly once. */
static inline bool touch(unsigned int n)
{
	const struct pp_cache_entry *e;
	bool ok;

	if (pp_cache_get(cache, region(n), REGION, &e, NULL))
		return false;
	ok = atomic_load((atomic_int *)e->reg) == 1;
	pp_cache_put(cache, e);
	return ok;
}

static inline void touch_all(unsigned int first, unsigned int count)
{
	unsigned int i;

	for (i = first; i < first + count; i++)
		assert_true(touch(i));
}

static inline struct pp_cache_stats stats(void)
{
	struct pp_cache_stats s;

	pp_cache_stats(cache, &s);
	return s;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

#endif
