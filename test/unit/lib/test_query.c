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

static void gpu_memory_is_recognised(void **state)
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

static void non_rdma_memory_is_reported(void **state)
{
	(void)state;
	mock_allocations[0].no_rdma = true;
	assert_int_equal(query(GPU, PEERPIN_PROVIDER_NV).rdma, 0);
}

static void pool_memory_is_reported(void **state)
{
	(void)state;
	mock_allocations[0].pooled = true;
	assert_int_equal(query(GPU, PEERPIN_PROVIDER_NV).pooled, 1);
	assert_int_equal(mock_cuda_calls, 1);
}

/* An old driver refuses a list with an unknown attribute. The library retries without this attribute. */
static void old_driver_knows_no_pools(void **state)
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

static void mapped_memory_reports_its_mapping(void **state)
{
	struct pp_mem mem;

	(void)state;
	mock_allocations[0].reserved = 4 * mock_allocations[0].size;
	mem = query(GPU, PEERPIN_PROVIDER_NV);
	assert_int_equal(mem.base, mock_allocations[0].base);
	assert_int_equal(mem.size, mock_allocations[0].size);
	assert_int_equal(mock_cuda_calls, 1);
}

static void old_driver_knows_no_mappings(void **state)
{
	struct pp_mem mem;

	(void)state;
	mock_cuda_older = true;
	mock_allocations[0].pooled = true;
	mem = query(GPU, PEERPIN_PROVIDER_NV);
	assert_int_equal(mem.pooled, 1);
	assert_int_equal(mem.size, mock_allocations[0].size);
}

static void unknown_address_is_host_memory(void **state)
{
	struct pp_mem mem = query(GPU - 1, PEERPIN_PROVIDER_HOST);

	(void)state;
	assert_int_equal(mem.kind, PP_MEM_HOST);
	assert_int_equal(mem.device, -1);
	assert_int_equal(mem.size, 0);
}

static void cuda_host_allocation_is_host_memory(void **state)
{
	(void)state;
	mock_allocations[0].host = true;
	assert_int_equal(query(GPU, PEERPIN_PROVIDER_AUTO).kind, PP_MEM_HOST);
}

static void managed_memory_is_recognised(void **state)
{
	(void)state;
	mock_allocations[0].managed = true;
	assert_int_equal(query(GPU, PEERPIN_PROVIDER_AUTO).kind,
			 PP_MEM_MANAGED);
}

static void without_cuda_all_is_host_memory(void **state)
{
	(void)state;
	mock_cuda_loaded = false;
	assert_int_equal(query(GPU, PEERPIN_PROVIDER_AUTO).kind, PP_MEM_HOST);
	assert_int_equal(pp_query_buffer_id(GPU), 0);
	assert_int_equal(pp_sync_memops((void *)(uintptr_t)GPU), -EINVAL);
}

static void failing_cuda_means_host_memory(void **state)
{
	(void)state;
	mock_cuda_error = 3;
	assert_int_equal(query(GPU, PEERPIN_PROVIDER_AUTO).kind, PP_MEM_HOST);
	assert_int_equal(pp_query_buffer_id(GPU), 0);
}

static void buffer_id_is_per_allocation(void **state)
{
	(void)state;
	assert_int_equal(pp_query_buffer_id(GPU + 1), 7);
	assert_int_equal(pp_query_buffer_id(GPU - 1), 0);
}

static void sync_memops_reaches_cuda(void **state)
{
	(void)state;
	assert_int_equal(pp_sync_memops((void *)(uintptr_t)GPU), 0);
	assert_int_equal(mock_allocations[0].synced, 1);
	assert_int_equal(pp_sync_memops(&mock_cuda_calls), -EINVAL);
}

static void null_result_is_refused(void **state)
{
	(void)state;
	assert_int_equal(pp_query(NULL, NULL), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(gpu_memory_is_recognised, setup),
		cmocka_unit_test_setup(non_rdma_memory_is_reported, setup),
		cmocka_unit_test_setup(pool_memory_is_reported, setup),
		cmocka_unit_test_setup(old_driver_knows_no_pools, setup),
		cmocka_unit_test_setup(mapped_memory_reports_its_mapping, setup),
		cmocka_unit_test_setup(old_driver_knows_no_mappings, setup),
		cmocka_unit_test_setup(unknown_address_is_host_memory, setup),
		cmocka_unit_test_setup(cuda_host_allocation_is_host_memory, setup),
		cmocka_unit_test_setup(managed_memory_is_recognised, setup),
		cmocka_unit_test_setup(without_cuda_all_is_host_memory, setup),
		cmocka_unit_test_setup(failing_cuda_means_host_memory, setup),
		cmocka_unit_test_setup(buffer_id_is_per_allocation, setup),
		cmocka_unit_test_setup(sync_memops_reaches_cuda, setup),
		cmocka_unit_test_setup(null_result_is_refused, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
