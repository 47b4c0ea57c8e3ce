// SPDX-License-Identifier: MIT
/* Frees in progress: more frees than slots, and fork() during a free. */
#include <errno.h>
#include "lib/hook/going.h"
#include "libpeerpin-hook.h"
#include "libpeerpin.h"
#include "test/unit/unit.h"

enum { MANY = 100 };

static int at[MANY];

static void begin_all(void)
{
	unsigned int i;

	for (i = 0; i < MANY; i++)
		at[i] = pp_going_begin((i + 1) << 20, 1 << 20);
}

static void end_all(void)
{
	unsigned int i;

	for (i = 0; i < MANY; i++)
		pp_going_end(at[i]);
}

/* A free without a slot may concern any address. */
static void excess_frees_count_as_everything(void **state)
{
	(void)state;
	assert_false(pp_hook_is_going(1 << 20, 1));
	begin_all();
	assert_true(pp_hook_is_going(1 << 20, 1));
	assert_true(pp_hook_is_going(1ull << 40, 1));
	end_all();
	assert_false(pp_hook_is_going(1 << 20, 1));
	assert_false(pp_hook_is_going(1ull << 40, 1));
}

/* A thread that forks inside a free continues the free in the child. */
static void child_may_end_forgotten_frees(void **state)
{
	(void)state;
	begin_all();
	pp_going_forget();
	assert_false(pp_hook_is_going(1 << 20, 1));
	end_all();
	assert_false(pp_hook_is_going(1 << 20, 1));
	assert_false(pp_hook_is_going(1ull << 40, 1));
}

/* ---- a custom cache, as in doc/libraries.md --------------------------------- */

static unsigned int pins;

static int pin(void *arg, uint64_t addr, uint64_t length, void **reg, struct pp_why *why)
{
	(void)arg;
	(void)why;
	if (pp_hook_is_going(addr, length))
		return -ESTALE;
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

static int get(struct pp_cache *cache)
{
	const struct pp_cache_entry *e;
	int ret = pp_cache_get(cache, (void *)(1 << 20), 1 << 20, &e, NULL);

	if (!ret)
		pp_cache_put(cache, e);
	return ret;
}

/*
 * The get comes after the callback but before the free. It must fail: no later callback would
 * invalidate the entry.
 */
static void pin_during_free_is_refused(void **state)
{
	static const struct pp_cache_ops ops = { .pin = pin, .unpin = unpin };
	struct pp_cache *cache;
	int going;

	(void)state;
	assert_int_equal(pp_cache_create(&ops, NULL, NULL, &cache), 0);
	going = pp_going_begin(1 << 20, 1 << 20);
	assert_int_equal(get(cache), -ESTALE);
	assert_int_equal(pins, 0);
	pp_going_end(going);
	assert_int_equal(get(cache), 0);
	assert_int_equal(pins, 1);
	pp_cache_destroy(cache);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(excess_frees_count_as_everything),
		cmocka_unit_test(child_may_end_forgotten_frees),
		cmocka_unit_test(pin_during_free_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
