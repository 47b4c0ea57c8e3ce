// SPDX-License-Identifier: MIT
/* Blocks and addresses of cuMemAlloc() and cuMemFree(). */
#include "heap_case.h"

#include <time.h>

enum { STEPS = 20000 };

static void test_small_allocations_share_a_block(void **state)
{
	CUdeviceptr a = create(MIB), b = create(MIB), c = create(1);

	(void)state;
	assert_true(b == a + MIB);
	assert_int_equal(nr_blocks, 2);
	destroy(a);
	assert_int_equal(nr_blocks, 2);
	destroy(b);
	assert_int_equal(nr_blocks, 1);
	destroy(c);
}

static void test_large_allocation_has_own_block(void **state)
{
	CUdeviceptr a = create(1), b = create(MIB + 1), c = create(4 * MIB + 1), d = create(1);

	(void)state;
	assert_int_equal(nr_blocks, 3);
	assert_true(d == a + HEAP_ALIGN);
	assert_true(b % GPU_BLOCK == 0 && c == b + GPU_BLOCK);
	assert_int_equal(kernel[1].size, 2 * MIB);
	assert_int_equal(kernel[2].size, 6 * MIB);
	destroy(a);
	destroy(b);
	destroy(c);
	destroy(d);
}

static void test_look_up_by_any_byte(void **state)
{
	CUdeviceptr a = create(1000), b = create(3 * MIB);
	struct alloc_info info;

	(void)state;
	assert_true(alloc_find(a + 999, &info) && info.addr == a && info.size == 1000);
	assert_false(alloc_find(a + 1000, &info));
	assert_true(alloc_find(b + 3 * MIB - 1, &info) && info.addr == b);
	assert_false(alloc_find(b + 3 * MIB, &info));
	assert_false(alloc_find(0, &info));
	assert_false(alloc_find(~0ull, &info));
	assert_int_equal(try_destroy(a + 1), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(try_destroy(b + 512), CUDA_ERROR_INVALID_VALUE);
	destroy(a);
	destroy(b);
	assert_int_equal(try_destroy(b), CUDA_ERROR_INVALID_VALUE);
}

static void test_reused_address_gets_new_id(void **state)
{
	static const size_t sizes[] = { 1, 70000, MIB, 3 * MIB, 8 * MIB };
	CUdeviceptr keep = create(8 * MIB), p, again;
	unsigned long long id;

	(void)state;
	for (unsigned int i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		p = create(sizes[i]);
		id = id_of(p);
		destroy(p);
		again = create(sizes[i]);
		assert_true(again == p && id_of(again) > id);
		destroy(again);
	}
	destroy(keep);
}

static CUdeviceptr from_callback;

/* Make calls as another thread could while the kernel runs a free callback. */
static void use_meanwhile(CUdeviceptr va)
{
	in_free = NULL;
	assert_int_equal(id_of(va), 0);
	assert_int_equal(try_destroy(va), CUDA_ERROR_INVALID_VALUE);
	from_callback = create(3 * MIB);
}

static void test_address_stays_taken_during_free(void **state)
{
	CUdeviceptr p = create(3 * MIB), again;

	(void)state;
	in_free = use_meanwhile;
	destroy(p);
	assert_true(from_callback != p);
	again = create(3 * MIB);
	assert_true(again == p);
	destroy(again);
	destroy(from_callback);
}

static void test_out_of_memory_leaves_nothing(void **state)
{
	CUdeviceptr p, q;

	(void)state;
	next_alloc = CUDA_ERROR_OUT_OF_MEMORY;
	assert_int_equal(try_create(1, &p), CUDA_ERROR_OUT_OF_MEMORY);
	next_alloc = CUDA_ERROR_OUT_OF_MEMORY;
	assert_int_equal(try_create(8 * MIB, &p), CUDA_ERROR_OUT_OF_MEMORY);
	assert_int_equal(try_create(SIZE_MAX, &p), CUDA_ERROR_OUT_OF_MEMORY);
	assert_int_equal(try_create((size_t)1 << 45, &p), CUDA_ERROR_OUT_OF_MEMORY);
	p = create(8 * MIB);
	assert_true(p == base);
	q = create(1);
	destroy(p);
	destroy(q);
}

static void test_context_end_frees_everything(void **state)
{
	struct block_list blocks = TAILQ_HEAD_INITIALIZER(blocks);
	CUdeviceptr p[10];

	(void)state;
	for (int i = 0; i < 10; i++)
		p[i] = create(i * 300000 + 1);
	lib_lock();
	heap_close(&ctx.heap, &blocks);
	lib_unlock();
	for (int i = 0; i < 10; i++)
		assert_int_equal(id_of(p[i]), 0);
	assert_true(nr_blocks);
	assert_int_equal(try_create(1, p), CUDA_ERROR_CONTEXT_IS_DESTROYED);
	heap_release(&blocks);
	assert_int_equal(nr_blocks, 0);
}

static void test_sync_memops_is_per_allocation(void **state)
{
	CUdeviceptr a = create(1000), b = create(1000);
	struct alloc_info info;

	(void)state;
	assert_true(alloc_find(a + 500, &info) && alloc_set_sync_memops(&info, true));
	assert_true(alloc_find(a, &info) && info.sync_memops);
	assert_true(alloc_find(b, &info) && !info.sync_memops);
	destroy(a);
	destroy(b);
}

/* A new allocation now has the address. */
static void test_stale_handle_finds_no_other(void **state)
{
	CUdeviceptr p = create(1000);
	struct alloc_info found, other;
	bool gone;

	(void)state;
	assert_true(alloc_find(p, &found));
	destroy(p);
	assert_int_equal(create(1000), p);
	assert_false(alloc_set_sync_memops(&found, true));
	assert_int_equal(heap_free(&found, &gone), CUDA_ERROR_INVALID_VALUE);
	assert_true(gone);
	assert_true(alloc_find(p, &other) && other.id != found.id && !other.sync_memops);
	destroy(p);
}

static void begin_another_life(void)
{
	struct block_list blocks = TAILQ_HEAD_INITIALIZER(blocks);

	lib_lock();
	heap_close(&ctx.heap, &blocks);
	assert_true(TAILQ_EMPTY(&blocks));
	heap_open(&ctx.heap);
	lib_unlock();
}

/* The context is reset while the kernel makes the block: so the block has tokens of the old context. */
static void test_reset_context_refuses_old_block(void **state)
{
	CUdeviceptr p;

	(void)state;
	in_alloc = begin_another_life;
	assert_int_equal(try_create(1, &p), CUDA_ERROR_CONTEXT_IS_DESTROYED);
	assert_int_equal(nr_blocks, 0);
	in_alloc = NULL;
	destroy(create(1));
}

static void test_blocks_carry_the_context(void **state)
{
	CUdeviceptr p = create(1);
	struct alloc_info info;

	(void)state;
	assert_int_equal(last_alloc.context, 77);
	assert_int_equal(last_alloc.flags | last_alloc.memory | last_alloc.offset, 0);
	assert_true(alloc_find(p, &info) && info.rdma && info.mapping == last_alloc.va);
	assert_true(info.mapping_size == GPU_BLOCK && info.mapping_id && info.mapping_id != info.id);
	destroy(p);
}

/* ---- any order of calls ---------------------------------------------------------------- */

struct live {
	CUdeviceptr p;
	size_t size;
};

static bool in_one_block(const struct live *l)
{
	for (unsigned int i = 0; i < nr_blocks; i++)
		if (l->p >= kernel[i].va && l->p + l->size <= kernel[i].va + kernel[i].size)
			return true;
	return false;
}

static void check_live(const struct live *all, unsigned int n, const struct live *l)
{
	struct alloc_info info;

	assert_true(in_one_block(l));
	assert_true(alloc_find(l->p + rand() % l->size, &info) && info.addr == l->p && info.size == l->size);
	for (unsigned int i = 0; i < n; i++)
		assert_true(&all[i] == l || !all[i].size || l->p + l->size <= all[i].p ||
			    l->p >= all[i].p + all[i].size);
}

static void test_random_order_keeps_allocations_apart(void **state)
{
	struct live all[200] = { 0 }, *l;
	unsigned int seed = time(NULL);

	(void)state;
	print_message("seed %u\n", seed);
	srand(seed);
	for (int i = 0; i < STEPS; i++) {
		l = &all[rand() % 200];
		if (l->size) {
			check_live(all, 200, l);
			destroy(l->p);
			l->size = 0;
			continue;
		}
		l->size = 1 + rand() % (rand() % 4 ? 5000 : 5 << 20);
		l->p = create(l->size);
	}
	for (int i = 0; i < 200; i++)
		if (all[i].size)
			destroy(all[i].p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_small_allocations_share_a_block, setup, teardown),
		cmocka_unit_test_setup_teardown(test_large_allocation_has_own_block, setup, teardown),
		cmocka_unit_test_setup_teardown(test_look_up_by_any_byte, setup, teardown),
		cmocka_unit_test_setup_teardown(test_reused_address_gets_new_id, setup, teardown),
		cmocka_unit_test_setup_teardown(test_address_stays_taken_during_free, setup, teardown),
		cmocka_unit_test_setup_teardown(test_out_of_memory_leaves_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(test_context_end_frees_everything, setup, teardown),
		cmocka_unit_test_setup_teardown(test_sync_memops_is_per_allocation, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stale_handle_finds_no_other, setup, teardown),
		cmocka_unit_test_setup_teardown(test_reset_context_refuses_old_block, setup, teardown),
		cmocka_unit_test_setup_teardown(test_blocks_carry_the_context, setup, teardown),
		cmocka_unit_test_setup_teardown(test_random_order_keeps_allocations_apart, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
