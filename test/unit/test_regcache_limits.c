// SPDX-License-Identifier: MIT
/* What the registration cache gives up when there is too much, or no room. */
#include <errno.h>
#include <linux/types.h>
#include <peerpin.h>
#include "cache_case.h"

static void too_large_an_allocation_is_taken_in_parts(void **state)
{
	(void)state;
	make(&mock_gpu_ops, 0, 0);
	mock_alloc(&mem, 0, 64);
	mem.capacity = 32 * MOCK_PAGE;
	touch(0, 8);
	assert_int_equal(stats().bytes, 8 * MOCK_PAGE);
	touch(8, 8);	/* does not try the whole, nor evict for it, again */
	touch(0, 8);
	assert_int_equal(mem.pins, 2);
	assert_int_equal(mem.unpins, 0);
	touch(4, 8);	/* but pieces grow together */
	assert_int_equal(stats().entries, 1);
	assert_int_equal(stats().bytes, 16 * MOCK_PAGE);
}

static void grows_no_further_than_the_budget(void **state)
{
	(void)state;
	mock_alloc(&mem, 0, 64);
	make(&mock_gpu_ops, 16, 0);
	touch(0, 8);
	assert_int_equal(stats().bytes, 8 * MOCK_PAGE);
}

static void budget_evicts_the_oldest(void **state)
{
	(void)state;
	make(&mock_host_ops, 8, 0);
	touch(0, 4);
	touch(10, 4);
	touch(0, 4);
	touch(20, 4);
	assert_int_equal(stats().evictions, 1);
	assert_int_equal(stats().bytes, 8 * MOCK_PAGE);
	touch(0, 4);
	assert_int_equal(mem.pins, 3);
	touch(10, 4);
	assert_int_equal(mem.pins, 4);
}

static void entry_limit_evicts(void **state)
{
	(void)state;
	make(&mock_host_ops, 0, 2);
	touch(0, 1);
	touch(2, 1);
	touch(4, 1);
	assert_int_equal(stats().entries, 2);
	assert_int_equal(stats().evictions, 1);
}

static void in_use_may_exceed_the_budget(void **state)
{
	const struct pp_cache_entry *a, *b;

	(void)state;
	make(&mock_host_ops, 4, 0);
	a = get(0, 4);
	b = get(10, 4);
	assert_int_equal(mem.unpins, 0);
	put(a);
	assert_int_equal(mem.unpins, 1);
	put(b);
	assert_int_equal(mem.unpins, 1);
	assert_int_equal(stats().bytes, 4 * MOCK_PAGE);
}

static void larger_than_the_budget(void **state)
{
	(void)state;
	make(&mock_host_ops, 4, 0);
	touch(0, 8);
	assert_int_equal(stats().entries, 0);
	assert_int_equal(mem.unpins, 1);
}

static void shortage_evicts_until_it_fits(void **state)
{
	(void)state;
	mem.capacity = 16 * MOCK_PAGE;
	touch(0, 4);
	touch(10, 4);
	touch(20, 4);
	touch(30, 4);
	touch(40, 6);
	assert_int_equal(stats().evictions, 2);
	touch(20, 4);
	touch(30, 4);
	assert_int_equal(mem.pins, 5);
}

static void each_kind_of_shortage_evicts(void **state)
{
	static const int kinds[] = { -ENOMEM, -ENOSPC, -EDQUOT };
	unsigned int i;

	(void)state;
	for (i = 0; i < 3; i++) {
		touch(0, 1);
		mem.fail = kinds[i];
		mem.fail_count = 1;
		touch(10, 1);
		assert_int_equal(stats().evictions, i + 1);
		pp_cache_flush(cache);
	}
}

static void other_errors_evict_nothing(void **state)
{
	(void)state;
	touch(0, 1);
	mem.fail = -EPERM;
	mem.fail_count = 1;
	assert_int_equal(get_error(10, 1), -EPERM);
	assert_int_equal(stats().evictions, 0);
	assert_int_equal(stats().entries, 1);
}

static void nothing_left_to_evict(void **state)
{
	const struct pp_cache_entry *a;
	const struct pp_cache_entry *e;
	struct pp_why why;

	(void)state;
	mem.capacity = 8 * MOCK_PAGE;
	a = get(0, 4);
	touch(10, 4);
	assert_int_equal(pp_cache_get(cache, mock_at(20), 6 * MOCK_PAGE, &e,
				      &why), -ENOMEM);
	assert_int_equal(why.reason, PEERPIN_REASON_NO_BAR1);
	assert_int_equal(stats().evictions, 1);
	assert_int_equal(stats().entries, 1);
	put(a);
	touch(20, 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(too_large_an_allocation_is_taken_in_parts),
		TEST(grows_no_further_than_the_budget),
		TEST(budget_evicts_the_oldest),
		TEST(entry_limit_evicts),
		TEST(in_use_may_exceed_the_budget),
		TEST(larger_than_the_budget),
		TEST(shortage_evicts_until_it_fits),
		TEST(each_kind_of_shortage_evicts),
		TEST(other_errors_evict_nothing),
		TEST(nothing_left_to_evict),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
