// SPDX-License-Identifier: MIT
/* A small cache that always sees new addresses must not need more memory or address space. */
#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include "libpeerpin.h"
#include "test/unit/unit.h"

enum {
	FEW = 16,
	WARM = 20000,
	MANY = 400000,
};

static int pin(void *arg, uint64_t addr, uint64_t length, void **reg, struct pp_why *why)
{
	(void)arg;
	(void)addr;
	(void)length;
	(void)why;
	*reg = NULL;
	return 0;
}

static void unpin(void *arg, void *reg)
{
	(void)arg;
	(void)reg;
}

static unsigned long addresses_kib(void)
{
	unsigned long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%lu", &pages), 1);
	fclose(f);
	return pages * 4;
}

/* Each region lies in its own gigabyte of addresses. */
static void use(struct pp_cache *cache, unsigned int from, unsigned int to)
{
	const struct pp_cache_entry *e;

	for (; from < to; from++) {
		void *at = (void *)((uintptr_t)(from + 1) << 30);

		assert_int_equal(pp_cache_get(cache, at, 4096, &e, NULL), 0);
		pp_cache_put(cache, e);
	}
}

static void new_addresses_cost_no_memory(void **state)
{
	const struct pp_cache_ops ops = { .pin = pin, .unpin = unpin };
	const struct pp_cache_attr attr = { .max_entries = FEW };
	struct pp_cache *cache;
	unsigned long before, after;

	(void)state;
	assert_int_equal(pp_cache_create(&ops, NULL, &attr, &cache), 0);
	use(cache, 0, WARM);
	before = addresses_kib();
	use(cache, WARM, MANY);
	after = addresses_kib();
	pp_cache_destroy(cache);
	printf("%ld KiB more after %d misses\n", (long)(after - before), MANY - WARM);
	assert_true(after < before + 1024);
}

/* Locked memory is special: madvise(MADV_DONTNEED) does not empty it. */
static void new_addresses_cost_no_locked_memory(void **state)
{
	if (mlockall(MCL_CURRENT | MCL_FUTURE))
		skip();
	new_addresses_cost_no_memory(state);
	munlockall();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(new_addresses_cost_no_memory),
		cmocka_unit_test(new_addresses_cost_no_locked_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
