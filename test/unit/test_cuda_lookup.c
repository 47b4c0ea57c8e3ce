// SPDX-License-Identifier: MIT
/* Finding CUDA in a process that loads it late, and never loading it itself. */
#include <dlfcn.h>
#include "libpeerpin.h"
#include "unit.h"

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
	assert_non_null(dlopen(FAKE_CUDA, RTLD_NOW | RTLD_LOCAL));
	assert_int_equal(kind(), PP_MEM_GPU);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(notices_cuda_when_it_is_loaded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
