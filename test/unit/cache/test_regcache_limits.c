// SPDX-License-Identifier: MIT
/* The registration cache evicts entries at its limits, and when a pin finds no room. */
#include <errno.h>
#include <linux/types.h>
#include <peerpin.h>
#include "cache_case.h"

static void large_allocation_is_pinned_in_parts(void **state)
{
	(void)state;
	make(&mock_gpu_ops, 0, 0);
	mock_alloc(&mem, 0, 64);
	mem.capacity = 32 * MOCK_PAGE;
	touch(0, 8);
	assert_int_equal(stats().bytes, 8 * MOCK_PAGE);
	touch(8, 8);	/* does not try the whole allocation again, and evicts nothing for it */
	touch(0, 8);
	assert_int_equal(mem.pins, 2);
	assert_int_equal(mem.unpins, 0);
	touch(4, 8);	/* parts still merge */
	assert_int_equal(stats().entries, 1);
	assert_int_equal(stats().bytes, 16 * MOCK_PAGE);
}

static void touch_each(unsigned int first, unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++)
		touch(first + i, 1);
}

static void refuse_once(unsigned int page)
{
	mem.fail = -ENOMEM;
	mem.fail_count = 1;
	touch(page, 2);
	assert_int_equal(stats().bytes, 2 * MOCK_PAGE);
}

static void descriptor_limit_is_no_room_shortage(void **state)
{
	(void)state;
	make(&mock_gpu_ops, 0, 0);
	mock_alloc(&mem, 0, 64);
	mock_alloc(&mem, 64, 64);
	mem.fail = -EMFILE;
	mem.fail_count = 1;
	touch(0, 2);
	touch(64, 1);
	assert_int_equal(stats().bytes, 66 * MOCK_PAGE);
}

static void empty_cache_forgets_shortage(void **state)
{
	(void)state;
	make(&mock_gpu_ops, 0, 0);
	mock_alloc(&mem, 0, 64);
	mock_alloc(&mem, 64, 64);
	refuse_once(0);
	pp_cache_invalidate(cache, mock_at(0), MOCK_PAGES * MOCK_PAGE);
	touch_each(64, 32);
	assert_int_equal(mem.pins, 2);
	touch_each(0, 32);	/* a whole allocation that fits again is pinned as a whole */
	assert_int_equal(mem.pins, 3);
}

/* The cache cannot see the end of a shortage, so it tries again after a few misses. */
static void misses_forget_passing_shortage(void **state)
{
	(void)state;
	make(&mock_gpu_ops, 0, 0);
	mock_alloc(&mem, 0, 64);
	mock_alloc(&mem, 64, 64);
	refuse_once(0);
	touch_each(64, 32);
	assert_in_range(mem.pins, 2, 8);
	touch_each(96, 32);
	touch(0, 64);
	assert_in_range(mem.pins, 2, 9);
}

static void lasting_shortage_is_retried_rarely(void **state)
{
	unsigned int i;

	(void)state;
	make(&mock_gpu_ops, 0, 0);
	mock_alloc(&mem, 0, 128);
	mem.capacity = 100 * MOCK_PAGE;
	for (i = 0; i < 64; i++)
		touch(2 * i, 1);
	assert_in_range(mem.attempts - mem.pins, 1, 8);
}

static void put_ends_shortage(void **state)
{
	const struct pp_cache_entry *e;

	(void)state;
	make(&mock_gpu_ops, 0, 0);
	mock_alloc(&mem, 0, 60);
	mock_alloc(&mem, 64, 8);
	mock_alloc(&mem, 80, 8);
	mem.capacity = 64 * MOCK_PAGE;
	e = get(0, 1);
	touch(64, 1);
	assert_int_equal(stats().bytes, 61 * MOCK_PAGE);
	put(e);
	touch_each(80, 8);
	assert_int_equal(mem.pins, 3);
}

/* Pages from 128 on are host memory. */
static int grow_gpu(void *arg, uint64_t *addr, uint64_t *length)
{
	if (mock_page_of(*addr) >= 128)
		return 0;
	return mock_gpu_ops.grow(arg, addr, length);
}

static void make_mixed(void)
{
	struct pp_cache_ops ops = mock_gpu_ops;

	ops.grow = grow_gpu;
	make(&ops, 0, 0);
	mock_alloc(&mem, 0, 8);
	mock_alloc(&mem, 8, 64);
}

static void gpu_shortage_ignores_host_memory(void **state)
{
	(void)state;
	make_mixed();
	refuse_once(0);
	touch(128, 8);
	touch(132, 8);
	assert_int_equal(stats().bytes, 14 * MOCK_PAGE);
}

static void host_shortage_ignores_gpu_memory(void **state)
{
	(void)state;
	make_mixed();
	touch(128, 8);
	mem.fail = -ENOMEM;
	mem.fail_count = 2;
	touch(132, 8);	/* the union is refused, even after evicting the entry that the union would replace */
	assert_int_equal(stats().bytes, 8 * MOCK_PAGE);
	touch(8, 1);
	assert_int_equal(stats().bytes, 72 * MOCK_PAGE);
}

static void growth_respects_entries_in_use(void **state)
{
	const struct pp_cache_entry *e;
	int i;

	(void)state;
	mock_alloc(&mem, 0, 90);
	mock_alloc(&mem, 100, 64);
	make(&mock_gpu_ops, 100, 0);
	e = get(0, 90);
	for (i = 0; i < 100; i++)
		touch(100, 4);
	assert_int_equal(mem.pins, 2);
	put(e);
}

static void growth_respects_budget(void **state)
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

static void oversized_entry_is_not_kept(void **state)
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
	static const int kinds[] = { -ENOMEM, -ENOSPC, -EDQUOT, -EMFILE };
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
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

/* Act like another thread that uses its two buffers without pause. */
static void use_buffers(uint64_t addr, uint64_t length)
{
	(void)addr;
	if (length < 100 * MOCK_PAGE)
		return;
	assert_true(mem.attempts < 50);
	touch(0, 1);
	touch(2, 1);
}

static void hopeless_get_fails(void **state)
{
	int attempts;

	(void)state;
	mem.capacity = 50 * MOCK_PAGE;
	touch(0, 1);
	touch(2, 1);
	mem.on_pin = use_buffers;
	attempts = mem.attempts;
	assert_int_equal(get_error(20, 200), -ENOMEM);
	assert_in_range(mem.attempts - attempts, 1, 6);
	assert_in_range(stats().evictions, 0, 2);
}

/* Act like another thread that registers and invalidates without pause. */
static void make_and_drop(uint64_t addr, uint64_t length)
{
	(void)addr;
	if (length < 100 * MOCK_PAGE)
		return;
	assert_true(mem.attempts < 50);
	touch(0, 1);
	pp_cache_invalidate(cache, mock_at(0), MOCK_PAGE);
}

static void hopeless_get_fails_while_others_unpin(void **state)
{
	(void)state;
	mem.capacity = 50 * MOCK_PAGE;
	mem.on_pin = make_and_drop;
	assert_int_equal(get_error(20, 200), -ENOMEM);
	assert_in_range(mem.attempts - mem.pins, 1, 3);
}

static void get_fails_without_idle_entries(void **state)
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
		TEST(large_allocation_is_pinned_in_parts),
		TEST(descriptor_limit_is_no_room_shortage),
		TEST(empty_cache_forgets_shortage),
		TEST(misses_forget_passing_shortage),
		TEST(lasting_shortage_is_retried_rarely),
		TEST(put_ends_shortage),
		TEST(gpu_shortage_ignores_host_memory),
		TEST(host_shortage_ignores_gpu_memory),
		TEST(growth_respects_entries_in_use),
		TEST(growth_respects_budget),
		TEST(budget_evicts_the_oldest),
		TEST(entry_limit_evicts),
		TEST(in_use_may_exceed_the_budget),
		TEST(oversized_entry_is_not_kept),
		TEST(shortage_evicts_until_it_fits),
		TEST(each_kind_of_shortage_evicts),
		TEST(other_errors_evict_nothing),
		TEST(hopeless_get_fails),
		TEST(hopeless_get_fails_while_others_unpin),
		TEST(get_fails_without_idle_entries),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
