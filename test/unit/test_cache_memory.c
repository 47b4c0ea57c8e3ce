// SPDX-License-Identifier: MIT
/* The registration cache's own memory: pages of another size, too little of it, and who looks on. */
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>
#include "cache_regions.h"

static long page_size;		/* 0: the system's */

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
	return __real_mprotect(at, length, prot);
}

static int setup_here(void **state)
{
	page_size = 0;
	return setup(state);
}

static void large_pages_hold_as_much(void **state)
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
		TEST_HERE(large_pages_hold_as_much),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
