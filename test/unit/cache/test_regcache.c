// SPDX-License-Identifier: MIT
/* The registration cache in one thread, case by case. */
#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cache_case.h"

static void second_get_hits(void **state)
{
	const struct pp_cache_entry *a = get(4, 2);
	const struct pp_cache_entry *b = get(4, 2);

	(void)state;
	assert_ptr_equal(a, b);
	put(a);
	put(b);
	touch(4, 2);
	assert_int_equal(mem.pins, 1);
	assert_int_equal(mem.unpins, 0);
	assert_int_equal(stats().hits, 2);
	assert_int_equal(stats().misses, 1);
	assert_int_equal(stats().entries, 1);
	assert_int_equal(stats().bytes, 2 * MOCK_PAGE);
}

static void sub_range_hits(void **state)
{
	(void)state;
	touch(4, 8);
	touch(5, 2);
	touch(11, 1);
	assert_int_equal(mem.pins, 1);
}

static void single_bytes_hit(void **state)
{
	const struct pp_cache_entry *e;
	char *at = mock_at(4);

	(void)state;
	touch(4, 1);
	assert_int_equal(pp_cache_get(cache, at + 4095, 1, &e, NULL), 0);
	put(e);
	assert_int_equal(mem.pins, 1);
	assert_int_equal(pp_cache_get(cache, at + 4095, 2, &e, NULL), 0);
	put(e);
	assert_int_equal(mem.pins, 2);
}

static void adjacent_ranges_do_not_merge(void **state)
{
	(void)state;
	touch(4, 1);
	touch(5, 1);
	touch(3, 1);
	assert_int_equal(stats().entries, 3);
}

static void overlaps_merge(void **state)
{
	(void)state;
	touch(4, 4);
	touch(6, 4);
	assert_int_equal(stats().entries, 1);
	assert_int_equal(stats().bytes, 6 * MOCK_PAGE);
	touch(4, 6);
	touch(4, 4);
	assert_int_equal(mem.pins, 2);
	assert_int_equal(mem.unpins, 1);
}

static void one_range_merges_many(void **state)
{
	(void)state;
	touch(2, 2);
	touch(6, 2);
	touch(10, 2);
	touch(3, 8);
	assert_int_equal(stats().entries, 1);
	assert_int_equal(stats().bytes, 10 * MOCK_PAGE);
}

static void merging_spares_entries_in_use(void **state)
{
	const struct pp_cache_entry *e = get(4, 4);
	struct mock_reg *reg = e->reg;

	(void)state;
	touch(6, 4);
	assert_int_equal(mem.unpins, 0);
	assert_int_equal(reg->unpinned, 0);
	put(e);
	assert_int_equal(reg->unpinned, 1);
	touch(4, 6);
	assert_int_equal(mem.pins, 2);
}

/* A part of an old entry was unmapped without an invalidation, so the pin of the union fails. */
static void failing_merge_falls_back(void **state)
{
	(void)state;
	make(&mock_plain_ops, 0, 0);
	touch(4, 4);
	mock_free(&mem, 4, 2);
	touch(6, 4);
	assert_int_equal(stats().bytes, 4 * MOCK_PAGE);
	assert_int_equal(get_error(4, 1), -EINVAL);
}

static void miss_grows_to_allocation(void **state)
{
	(void)state;
	mock_alloc(&mem, 8, 16);
	make(&mock_gpu_ops, 0, 0);
	touch(10, 1);
	assert_int_equal(stats().bytes, 16 * MOCK_PAGE);
	touch(8, 16);
	touch(23, 1);
	assert_int_equal(mem.pins, 1);
}

static void allocations_never_merge(void **state)
{
	(void)state;
	make(&mock_gpu_ops, 0, 0);
	mock_alloc(&mem, 8, 8);
	mock_alloc(&mem, 16, 8);
	touch(8, 1);
	touch(16, 1);
	assert_int_equal(stats().entries, 2);
	mock_alloc(&mem, 12, 8);	/* replaces half of each old allocation */
	touch(12, 1);
	assert_int_equal(stats().entries, 1);
	assert_int_equal(stats().bytes, 8 * MOCK_PAGE);
}

static void revoked_idle_entry_is_replaced(void **state)
{
	(void)state;
	touch(4, 2);
	mock_alloc(&mem, 4, 2);
	touch(4, 2);
	assert_int_equal(mem.pins, 2);
	assert_int_equal(mem.unpins, 1);
	assert_int_equal(stats().revocations, 1);
	assert_int_equal(stats().hits, 0);
	assert_int_equal(stats().misses, 2);
}

static void revoked_entry_unpins_at_put(void **state)
{
	const struct pp_cache_entry *a = get(4, 2);
	struct mock_reg *old = a->reg;

	(void)state;
	mock_alloc(&mem, 4, 2);
	touch(4, 2);
	assert_int_equal(mem.pins, 2);
	assert_int_equal(old->unpinned, 0);
	put(a);
	assert_int_equal(old->unpinned, 1);
}

static void freed_memory_is_stale(void **state)
{
	(void)state;
	touch(4, 2);
	mock_free(&mem, 4, 2);
	assert_int_equal(get_error(4, 2), -ESTALE);
	assert_int_equal(get_error(4, 2), -EINVAL);
	assert_int_equal(mem.unpins, 1);
}

static void invalidate_unpins_idle_entries(void **state)
{
	(void)state;
	make(&mock_plain_ops, 0, 0);
	touch(4, 2);
	touch(8, 2);
	touch(12, 2);
	pp_cache_invalidate(cache, mock_at(5), 4 * MOCK_PAGE);
	assert_int_equal(mem.unpins, 2);
	touch(12, 2);
	assert_int_equal(mem.pins, 3);
	touch(4, 2);
	assert_int_equal(mem.pins, 4);
}

static void invalidate_defers_entries_in_use(void **state)
{
	const struct pp_cache_entry *a, *b;

	(void)state;
	make(&mock_plain_ops, 0, 0);
	a = get(4, 2);
	b = get(4, 2);
	pp_cache_invalidate(cache, mock_at(4), 1);
	touch(4, 2);
	assert_int_equal(mem.pins, 2);
	put(a);
	assert_int_equal(mem.unpins, 0);
	put(b);
	assert_int_equal(mem.unpins, 1);
}

static void invalidate_covers_whole_address_space(void **state)
{
	(void)state;
	touch(4, 2);
	pp_cache_invalidate(cache, NULL, SIZE_MAX);
	assert_int_equal(stats().entries, 0);
	pp_cache_invalidate(cache, mock_at(4), SIZE_MAX);
}

static void an_empty_range_invalidates_nothing(void **state)
{
	(void)state;
	touch(4, 4);
	pp_cache_invalidate(cache, mock_at(6), 0);
	pp_cache_invalidate(cache, mock_at(4), 0);
	assert_int_equal(stats().entries, 1);
}

static void flush_spares_entries_in_use(void **state)
{
	const struct pp_cache_entry *e = get(4, 2);

	(void)state;
	touch(8, 2);
	pp_cache_flush(cache);
	assert_int_equal(mem.unpins, 1);
	put(e);
	assert_int_equal(stats().entries, 1);
}

static void bad_ranges_are_refused(void **state)
{
	const struct pp_cache_entry *e;

	(void)state;
	assert_int_equal(pp_cache_get(cache, mock_at(0), 0, &e, NULL),
			 -EINVAL);
	assert_int_equal(pp_cache_get(cache, mock_at(0), SIZE_MAX, &e, NULL),
			 -EINVAL);
	assert_int_equal(mem.attempts, 0);
}

static void callbacks_are_needed(void **state)
{
	const struct pp_cache_ops ops = { .unpin = mock_host_ops.unpin };
	struct pp_cache *c;

	(void)state;
	assert_int_equal(pp_cache_create(&ops, NULL, NULL, &c), -EINVAL);
}

static int fails_with_errno(void *arg, uint64_t addr, uint64_t length,
			    void **reg, struct pp_why *why)
{
	(void)arg;
	(void)addr;
	(void)length;
	(void)reg;
	(void)why;
	errno = EIO;
	return -EPERM;
}

static void cache_preserves_errno(void **state)
{
	struct pp_cache_ops ops = mock_host_ops;

	(void)state;
	ops.pin = fails_with_errno;
	make(&ops, 0, 0);
	errno = 1234;
	assert_int_equal(get_error(0, 1), -EPERM);
	assert_int_equal(errno, 1234);
}

static int in_child(const struct pp_cache_entry *e)
{
	int unpins = mem.unpins;

	if (get_error(0, 1) != -EACCES)
		return 1;
	pp_cache_put(cache, e);
	pp_cache_invalidate(cache, mock_at(0), MOCK_PAGE);
	pp_cache_flush(cache);
	pp_cache_destroy(cache);
	return mem.unpins == unpins ? 0 : 2;
}

static void a_child_unpins_nothing(void **state)
{
	const struct pp_cache_entry *e = get(0, 1);
	int status;
	pid_t pid = fork();

	(void)state;
	if (!pid)
		_exit(in_child(e));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	put(e);
	touch(0, 1);
	assert_int_equal(mem.pins, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(second_get_hits),
		TEST(sub_range_hits),
		TEST(single_bytes_hit),
		TEST(adjacent_ranges_do_not_merge),
		TEST(overlaps_merge),
		TEST(one_range_merges_many),
		TEST(merging_spares_entries_in_use),
		TEST(failing_merge_falls_back),
		TEST(miss_grows_to_allocation),
		TEST(allocations_never_merge),
		TEST(revoked_idle_entry_is_replaced),
		TEST(revoked_entry_unpins_at_put),
		TEST(freed_memory_is_stale),
		TEST(invalidate_unpins_idle_entries),
		TEST(invalidate_defers_entries_in_use),
		TEST(invalidate_covers_whole_address_space),
		TEST(an_empty_range_invalidates_nothing),
		TEST(flush_spares_entries_in_use),
		TEST(bad_ranges_are_refused),
		TEST(callbacks_are_needed),
		TEST(cache_preserves_errno),
		TEST(a_child_unpins_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
