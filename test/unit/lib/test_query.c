// SPDX-License-Identifier: MIT
#include <errno.h>
#include <linux/types.h>
#include <peerpin.h>
#include "test/unit/mock/mock_cuda.h"
#include "lib/cuda/query.h"
#include "test/unit/unit.h"

enum {
	GPU = 0x10000000,
};

static int setup(void **state)
{
	(void)state;
	mock_cuda_reset();
	mock_allocations[0] = (struct mock_allocation) {
		.base = GPU, .size = 0x800000, .id = 7,
	};
	return 0;
}

static struct pp_mem query(uint64_t addr, unsigned int provider)
{
	struct pp_mem mem;

	assert_int_equal(pp_query_provider((void *)(uintptr_t)addr, &mem),
			 provider);
	return mem;
}

static void gpu_memory(void **state)
{
	struct pp_mem mem = query(GPU + 0x12345, PEERPIN_PROVIDER_NV);

	(void)state;
	assert_int_equal(mem.kind, PP_MEM_GPU);
	assert_int_equal(mem.device, 3);
	assert_int_equal(mem.base, GPU);
	assert_int_equal(mem.size, 0x800000);
	assert_int_equal(mem.buffer_id, 7);
	assert_int_equal(mem.rdma, 1);
	assert_int_equal(mem.pooled, 0);
	assert_int_equal(mock_cuda_calls, 1);
}

static void memory_no_device_reaches(void **state)
{
	(void)state;
	mock_allocations[0].no_rdma = true;
	assert_int_equal(query(GPU, PEERPIN_PROVIDER_NV).rdma, 0);
}

static void memory_of_a_pool(void **state)
{
	(void)state;
	mock_allocations[0].pooled = true;
	assert_int_equal(query(GPU, PEERPIN_PROVIDER_NV).pooled, 1);
	assert_int_equal(mock_cuda_calls, 1);
}

/* It refuses a list with an attribute it does not know. */
static void a_driver_older_than_pools(void **state)
{
	struct pp_mem mem;

	(void)state;
	mock_cuda_old = true;
	mem = query(GPU, PEERPIN_PROVIDER_NV);
	assert_int_equal(mem.kind, PP_MEM_GPU);
	assert_int_equal(mem.buffer_id, 7);
	assert_int_equal(mem.rdma, 1);
	assert_int_equal(mem.pooled, 0);
}

static void memory_that_the_program_maps(void **state)
{
	struct pp_mem mem;

	(void)state;
	mock_allocations[0].reserved = 4 * mock_allocations[0].size;
	mem = query(GPU, PEERPIN_PROVIDER_NV);
	assert_int_equal(mem.base, mock_allocations[0].base);
	assert_int_equal(mem.size, mock_allocations[0].size);
	assert_int_equal(mock_cuda_calls, 1);
}

static void a_driver_older_than_mappings(void **state)
{
	struct pp_mem mem;

	(void)state;
	mock_cuda_older = true;
	mock_allocations[0].pooled = true;
	mem = query(GPU, PEERPIN_PROVIDER_NV);
	assert_int_equal(mem.pooled, 1);
	assert_int_equal(mem.size, mock_allocations[0].size);
}

static void host_memory(void **state)
{
	struct pp_mem mem = query(GPU - 1, PEERPIN_PROVIDER_HOST);

	(void)state;
	assert_int_equal(mem.kind, PP_MEM_HOST);
	assert_int_equal(mem.device, -1);
	assert_int_equal(mem.size, 0);
}

static void host_memory_that_cuda_knows(void **state)
{
	(void)state;
	mock_allocations[0].host = true;
	assert_int_equal(query(GPU, PEERPIN_PROVIDER_AUTO).kind, PP_MEM_HOST);
}

static void managed_memory(void **state)
{
	(void)state;
	mock_allocations[0].managed = true;
	assert_int_equal(query(GPU, PEERPIN_PROVIDER_AUTO).kind,
			 PP_MEM_MANAGED);
}

static void without_cuda(void **state)
{
	(void)state;
	mock_cuda_loaded = false;
	assert_int_equal(query(GPU, PEERPIN_PROVIDER_AUTO).kind, PP_MEM_HOST);
	assert_int_equal(pp_query_buffer_id(GPU), 0);
	assert_int_equal(pp_sync_memops((void *)(uintptr_t)GPU), -EINVAL);
}

static void cuda_that_fails(void **state)
{
	(void)state;
	mock_cuda_error = 3;
	assert_int_equal(query(GPU, PEERPIN_PROVIDER_AUTO).kind, PP_MEM_HOST);
	assert_int_equal(pp_query_buffer_id(GPU), 0);
}

static void buffer_id(void **state)
{
	(void)state;
	assert_int_equal(pp_query_buffer_id(GPU + 1), 7);
	assert_int_equal(pp_query_buffer_id(GPU - 1), 0);
}

static void sync_memops(void **state)
{
	(void)state;
	assert_int_equal(pp_sync_memops((void *)(uintptr_t)GPU), 0);
	assert_int_equal(mock_allocations[0].synced, 1);
	assert_int_equal(pp_sync_memops(&mock_cuda_calls), -EINVAL);
}

static void no_room_for_the_answer(void **state)
{
	(void)state;
	assert_int_equal(pp_query(NULL, NULL), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(gpu_memory, setup),
		cmocka_unit_test_setup(memory_no_device_reaches, setup),
		cmocka_unit_test_setup(memory_of_a_pool, setup),
		cmocka_unit_test_setup(a_driver_older_than_pools, setup),
		cmocka_unit_test_setup(memory_that_the_program_maps, setup),
		cmocka_unit_test_setup(a_driver_older_than_mappings, setup),
		cmocka_unit_test_setup(host_memory, setup),
		cmocka_unit_test_setup(host_memory_that_cuda_knows, setup),
		cmocka_unit_test_setup(managed_memory, setup),
		cmocka_unit_test_setup(without_cuda, setup),
		cmocka_unit_test_setup(cuda_that_fails, setup),
		cmocka_unit_test_setup(buffer_id, setup),
		cmocka_unit_test_setup(sync_memops, setup),
		cmocka_unit_test_setup(no_room_for_the_answer, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
