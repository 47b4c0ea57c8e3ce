// SPDX-License-Identifier: MIT
/*
 * The memory of the registration cache itself: other page sizes, too little memory, and memory
 * hooks that call the cache.
 */
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>
#include "cache_regions.h"

static long page_size;		/* page size for the library; 0: the real size */
static bool no_memory;

long __real_sysconf(int name);
int __real_mprotect(void *at, size_t length, int prot);

long __wrap_sysconf(int name);
int __wrap_mprotect(void *at, size_t length, int prot);

long __wrap_sysconf(int name)
{
	return name == _SC_PAGESIZE && page_size ? page_size : __real_sysconf(name);
}

int __wrap_mprotect(void *at, size_t length, int prot)
{
	if (page_size && (uintptr_t)at % page_size) {
		errno = EINVAL;
		return -1;
	}
	if (no_memory) {
		errno = ENOMEM;
		return -1;
	}
	return __real_mprotect(at, length, prot);
}

enum { FIRST = 63 };	/* entries in the first page of the pool */

static void no_memory_evicts_idle_entries(void **state)
{
	const struct pp_cache_entry *held[FIRST];
	unsigned int i;

	(void)state;
	page_size = 4096;
	cache = make(0, 0);
	touch_all(0, FIRST);
	no_memory = true;
	touch_all(100, 1);
	assert_int_equal(stats().evictions, 1);
	assert_int_equal(stats().entries, FIRST);
	for (i = 0; i < FIRST; i++)
		assert_int_equal(pp_cache_get(cache, region(200 + i), REGION, &held[i], NULL), 0);
	assert_false(touch(0));
	for (i = 0; i < FIRST; i++)
		pp_cache_put(cache, held[i]);
	assert_true(touch(0));
}

/* ---- memory hooks ---------------------------------------------------------------- */

static bool telling;
static atomic_int told;

void *__real_calloc(size_t count, size_t size);
int __real_madvise(void *at, size_t length, int advice);
int __real_munmap(void *at, size_t length);

void *__wrap_calloc(size_t count, size_t size);
int __wrap_madvise(void *at, size_t length, int advice);
int __wrap_munmap(void *at, size_t length);

/* Memory hooks of communication libraries invalidate all unmapped memory, also memory of the cache itself. */
static void tell(void *at, size_t length)
{
	if (!telling)
		return;
	atomic_fetch_add(&told, 1);
	pp_cache_invalidate(cache, at, length);
}

void *__wrap_calloc(size_t count, size_t size)
{
	tell(NULL, 4096);
	return __real_calloc(count, size);
}

int __wrap_madvise(void *at, size_t length, int advice)
{
	tell(at, length);
	return __real_madvise(at, length, advice);
}

int __wrap_munmap(void *at, size_t length)
{
	tell(at, length);
	return __real_munmap(at, length);
}

static void memory_hook_may_invalidate_cache(void **state)
{
	(void)state;
	cache = make(0, 0);
	telling = true;
	touch_all(0, 20000);
	assert_int_equal(madvise(NULL, 0, MADV_DONTNEED), 0);
	telling = false;
	assert_int_not_equal(atomic_load(&told), 0);
}

static int setup_here(void **state)
{
	page_size = 0;
	no_memory = false;
	telling = false;
	alarm(60);
	return setup(state);
}

static void large_pages_hold_as_many_entries(void **state)
{
	(void)state;
	for (page_size = 4096; page_size <= 65536; page_size *= 4) {
		cache = make(0, 0);
		touch_all(0, 5000);
		assert_int_equal(stats().entries, 5000);
		pp_cache_destroy(cache);
		cache = NULL;
	}
}

#define TEST_HERE(f) cmocka_unit_test_setup_teardown(f, setup_here, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_HERE(large_pages_hold_as_many_entries),
		TEST_HERE(no_memory_evicts_idle_entries),
		TEST_HERE(memory_hook_may_invalidate_cache),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
