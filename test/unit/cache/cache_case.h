/* SPDX-License-Identifier: MIT */
/* A new cache over mock memory for each case, and short helpers that call the cache. */
#ifndef CACHE_CASE_H
#define CACHE_CASE_H

#include "test/unit/mock/mock_memory.h"
#include "test/unit/unit.h"

static struct mock_memory mem;
static struct pp_cache *cache;

static inline void make(const struct pp_cache_ops *ops, uint64_t max_pages,
		 uint64_t max_entries)
{
	const struct pp_cache_attr attr = {
		.max_bytes = max_pages * MOCK_PAGE,
		.max_entries = max_entries,
	};

	pp_cache_destroy(cache);
	assert_int_equal(pp_cache_create(ops, &mem, &attr, &cache), 0);
}

static inline int setup(void **state)
{
	(void)state;
	mock_memory_init(&mem);
	mock_alloc(&mem, 0, MOCK_PAGES);
	make(&mock_host_ops, 0, 0);
	return 0;
}

static inline int teardown(void **state)
{
	(void)state;
	pp_cache_destroy(cache);
	cache = NULL;
	assert_int_equal(mem.pins, mem.unpins);
	assert_true(LIST_EMPTY(&mem.live));
	mock_memory_destroy(&mem);
	return 0;
}

static inline const struct pp_cache_entry *get(unsigned int page, unsigned int count)
{
	const struct pp_cache_entry *e;
	int ret = pp_cache_get(cache, mock_at(page), count * MOCK_PAGE, &e,
			       NULL);

	assert_int_equal(ret, 0);
	assert_true(e->addr <= (uintptr_t)mock_at(page));
	assert_true(e->addr + e->length >= (uintptr_t)mock_at(page + count));
	return e;
}

static inline int get_error(unsigned int page, unsigned int count)
{
	const struct pp_cache_entry *e;

	return pp_cache_get(cache, mock_at(page), count * MOCK_PAGE, &e, NULL);
}

static inline void put(const struct pp_cache_entry *e)
{
	pp_cache_put(cache, e);
}

static inline void touch(unsigned int page, unsigned int count)
{
	put(get(page, count));
}

static inline struct pp_cache_stats stats(void)
{
	struct pp_cache_stats s;

	pp_cache_stats(cache, &s);
	return s;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

#endif
