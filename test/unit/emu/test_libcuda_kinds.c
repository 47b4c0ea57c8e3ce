// SPDX-License-Identifier: MIT
/* Other kinds of CUDA memory: pools, host memory, registered memory and reserved addresses. */
#include "heap_case.h"

static void test_pools_are_not_for_peers(void **state)
{
	CUdeviceptr p = create_kind(ALLOC_POOL, 3 * MIB, 0), q = create(1);
	struct alloc_info info;

	(void)state;
	assert_int_equal(kernel[0].size, 4 * MIB);
	assert_true(alloc_find(p, &info) && !info.rdma && info.pool == &pool && !info.ctx);
	assert_int_equal(pool.heap.used, 3 * MIB);
	assert_int_equal(pool.heap.reserved, 4 * MIB);
	assert_int_equal(try_destroy(p), CUDA_ERROR_INVALID_VALUE);
	destroy_kind(ALLOC_POOL, p);
	destroy(q);
	assert_int_equal(create_kind(ALLOC_POOL, 1, 0), p);
	assert_int_equal(last_alloc.flags, EMUGPU_ALLOC_NO_P2P);
	assert_int_equal(last_alloc.context, 0);
	destroy_kind(ALLOC_POOL, p);
}

static void test_pool_keeps_threshold_bytes(void **state)
{
	CUdeviceptr p, q;

	(void)state;
	pool.heap.keep = 4 * MIB;
	p = create_kind(ALLOC_POOL, 3 * MIB, 0);
	q = create_kind(ALLOC_POOL, 5 * MIB, 0);
	destroy_kind(ALLOC_POOL, q);
	assert_int_equal(nr_blocks, 1);
	destroy_kind(ALLOC_POOL, p);
	assert_int_equal(nr_blocks, 1);
	assert_int_equal(pool.heap.reserved, 4 * MIB);
	assert_int_equal(pool.heap.reserved_high, 10 * MIB);
	assert_int_equal(create_kind(ALLOC_POOL, 4 * MIB, 0), p);
	assert_int_equal(nr_blocks, 1);
	destroy_kind(ALLOC_POOL, p);
	heap_trim(&pool.heap, 4 * MIB);
	assert_int_equal(nr_blocks, 1);
	heap_trim(&pool.heap, 0);
	assert_int_equal(nr_blocks, 0);
}

static void test_pool_counts_beyond_32_bits(void **state)
{
	const size_t size = 5000 * MIB;
	CUdeviceptr p = create_kind(ALLOC_POOL, size - 1, 0);

	(void)state;
	assert_int_equal(pool.heap.used, size - 1);
	assert_int_equal(pool.heap.reserved, size);
	destroy_kind(ALLOC_POOL, p);
	assert_int_equal(pool.heap.used, 0);
}

static void test_taken_memory_stays_until_given(void **state)
{
	CUdeviceptr p = create_kind(ALLOC_POOL, 3 * MIB, 0), q;
	struct alloc_info found;
	struct allocation *a;

	(void)state;
	assert_true(alloc_find(p, &found) && found.pool == &pool);
	a = heap_take(&found);
	assert_non_null(a);
	assert_int_equal(id_of(p), 0);
	assert_null(heap_take(&found));
	q = create_kind(ALLOC_POOL, 3 * MIB, 0);
	assert_true(q != p);
	assert_int_equal(heap_give(a), CUDA_SUCCESS);
	assert_int_equal(nr_blocks, 1);
	destroy_kind(ALLOC_POOL, q);
}

static void test_host_memory_is_cpu_memory(void **state)
{
	CUdeviceptr p = create_kind(ALLOC_HOST, 5000, CU_MEMHOSTALLOC_WRITECOMBINED);
	struct alloc_info info;

	(void)state;
	memset((void *)(uintptr_t)p, 1, 5000);
	assert_int_equal(nr_blocks, 0);
	assert_true(alloc_find(p + 4999, &info) && !info.rdma && alloc_on_cpu(&info));
	assert_int_equal(info.flags, CU_MEMHOSTALLOC_WRITECOMBINED);
	assert_false(alloc_find(p + 5000, &info));
	destroy_kind(ALLOC_HOST, p);
}

static void test_integrated_host_memory_uses_kernel(void **state)
{
	CUdeviceptr p;
	struct alloc_info info;

	(void)state;
	gpu.out_integrated = 1;
	p = create_kind(ALLOC_HOST, 5000, CU_MEMHOSTALLOC_WRITECOMBINED);
	assert_int_equal(last_alloc.flags, EMUGPU_ALLOC_HOST | EMUGPU_ALLOC_WRITE_COMBINED);
	memset((void *)(uintptr_t)p, 1, 5000);
	assert_true(alloc_find(p, &info) && info.rdma && alloc_on_cpu(&info) && last_alloc.va == p);
	destroy_kind(ALLOC_HOST, p);
	assert_int_equal(create_kind(ALLOC_HOST, 1, 0), p);
	assert_int_equal(last_alloc.flags, EMUGPU_ALLOC_HOST);
	destroy_kind(ALLOC_HOST, p);
}

static void test_failed_mapping_keeps_addresses_reserved(void **state)
{
	CUdeviceptr va;
	void *want, *p;

	(void)state;
	gpu.out_integrated = 1;
	next_map = CUDA_ERROR_OUT_OF_MEMORY;
	assert_int_equal(try_kind(ALLOC_HOST, 5000, 0, &va), CUDA_ERROR_OUT_OF_MEMORY);
	want = (void *)(uintptr_t)last_alloc.va;
	p = mmap(want, GPU_BLOCK, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	assert_ptr_not_equal(p, want);	/* for an old kernel MAP_FIXED_NOREPLACE is only a hint */
}

static void test_registered_memory_can_be_readonly(void **state)
{
	static char memory[10000];
	struct alloc_info want = { .kind = ALLOC_REGISTERED, .ctx = &ctx, .addr = (uintptr_t)memory, .size = 5000 };
	struct alloc_info info;
	CUdeviceptr p;

	(void)state;
	assert_int_equal(heap_alloc(&want, &p), CUDA_SUCCESS);
	assert_true(alloc_find(p, &info) && info.access == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
	want.addr += 5000;
	want.flags = CU_MEMHOSTREGISTER_READ_ONLY;
	assert_int_equal(heap_alloc(&want, &p), CUDA_SUCCESS);
	assert_true(alloc_find(p, &info) && info.access == CU_MEM_ACCESS_FLAGS_PROT_READ);
	destroy_kind(ALLOC_REGISTERED, p);
	destroy_kind(ALLOC_REGISTERED, p - 5000);
}

static void test_memory_is_registered_once(void **state)
{
	static char memory[10000];
	struct alloc_info want = { .kind = ALLOC_REGISTERED, .ctx = &ctx, .addr = (uintptr_t)memory, .size = 5000 };
	CUdeviceptr p;

	(void)state;
	assert_int_equal(heap_alloc(&want, &p), CUDA_SUCCESS);
	assert_int_equal(p, want.addr);
	want.addr += 4999;
	assert_int_equal(heap_alloc(&want, &p), CUDA_ERROR_OUT_OF_MEMORY);
	want.addr++;
	assert_int_equal(heap_alloc(&want, &p), CUDA_SUCCESS);
	destroy_kind(ALLOC_REGISTERED, p);
	destroy_kind(ALLOC_REGISTERED, p - 5000);
}

/* ---- addresses ------------------------------------------------------------------------ */

static void test_addresses_honour_alignment(void **state)
{
	CUdeviceptr first = space_take(GPU_BLOCK), p, q;

	(void)state;
	p = space_take_aligned(3 * GPU_BLOCK, 64 * MIB);
	assert_true(p && p % (64 * MIB) == 0);
	q = space_take(GPU_BLOCK);
	assert_true(q == first + GPU_BLOCK);
	assert_false(space_take_at(p + GPU_BLOCK, GPU_BLOCK));
	assert_true(space_take_at(p + 3 * GPU_BLOCK, 2 * GPU_BLOCK));
	assert_false(space_take_at(p + 5 * GPU_BLOCK + 4096, GPU_BLOCK));
	assert_false(space_take_at(4096, GPU_BLOCK));
	assert_false(space_take_at(base + limit - GPU_BLOCK, 2 * GPU_BLOCK));
	assert_int_equal(space_take_aligned(GPU_BLOCK, 1ull << 60), 0);
	space_give(p + 3 * GPU_BLOCK, 2 * GPU_BLOCK);
	space_give(p, 3 * GPU_BLOCK);
	space_give(first, 2 * GPU_BLOCK);
	p = space_take(limit);
	assert_true(p == base);
	space_give(p, limit);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_pools_are_not_for_peers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pool_keeps_threshold_bytes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pool_counts_beyond_32_bits, setup, teardown),
		cmocka_unit_test_setup_teardown(test_taken_memory_stays_until_given, setup, teardown),
		cmocka_unit_test_setup_teardown(test_host_memory_is_cpu_memory, setup, teardown),
		cmocka_unit_test_setup_teardown(test_integrated_host_memory_uses_kernel, setup, teardown),
		cmocka_unit_test_setup_teardown(test_failed_mapping_keeps_addresses_reserved, setup, teardown),
		cmocka_unit_test_setup_teardown(test_registered_memory_can_be_readonly, setup, teardown),
		cmocka_unit_test_setup_teardown(test_memory_is_registered_once, setup, teardown),
		cmocka_unit_test_setup_teardown(test_addresses_honour_alignment, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
