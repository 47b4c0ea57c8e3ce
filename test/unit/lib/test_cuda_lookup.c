// SPDX-License-Identifier: MIT
/* The library must find a CUDA that the process loads late, and must never load CUDA itself. */
#include <dlfcn.h>
#include "libpeerpin.h"
#include "test/unit/loading.h"

static enum pp_mem_kind kind(void)
{
	struct pp_mem mem;

	assert_int_equal(pp_query(__func__, &mem), 0);
	return mem.kind;
}

static void notices_cuda_when_it_is_loaded(void **state)
{
	(void)state;
	assert_int_equal(kind(), PP_MEM_HOST);
	assert_int_equal(kind(), PP_MEM_HOST);
	assert_null(dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_NOW));
	assert_non_null(dlopen(BUILD "/bin/test/fake/libcuda.so.1", RTLD_NOW | RTLD_LOCAL));
	assert_int_equal(kind(), PP_MEM_GPU);
}

/* ---- the lock of the dynamic loader ------------------------------------------ */

static void call_query(void)
{
	struct pp_mem mem;

	pp_query(&loading, &mem);
}

static void call_bar1(void)
{
	struct pp_bar1 bar1;

	pp_bar1(0, &bar1);
}

/* libfabric calls the library under a lock that a constructor may need. The case comes first, because CUDA is not loaded yet. */
static void a_query_does_not_wait_for_a_constructor(void **state)
{
	(void)state;
	load_plugin_meanwhile(call_query);
}

static void a_constructor_may_query(void **state)
{
	(void)state;
	load_plugin(call_query);
}

static void a_constructor_may_ask_for_bar1(void **state)
{
	(void)state;
	load_plugin(call_bar1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_query_does_not_wait_for_a_constructor),
		cmocka_unit_test(a_constructor_may_query),
		cmocka_unit_test(a_constructor_may_ask_for_bar1),
		cmocka_unit_test(notices_cuda_when_it_is_loaded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
