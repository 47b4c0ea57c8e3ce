// SPDX-License-Identifier: MIT
/*
 * Memory that a program maps itself (cuMemMap()), over a mock kernel: when a block exists, and when
 * the memory is freed. A failed call must leave nothing behind.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "emu/cuda/memory/alloc.h"
#include "emu/cuda/context/device.h"
#include "emu/cuda/context/init.h"
#include "emu/cuda/memory/mem.h"
#include "emu/cuda/context/node.h"
#include "emu/cuda/memory/reserve.h"
#include "emu/cuda/memory/space.h"

#define SIZE ((size_t)4 << 20)

/* ---- the kernel ------------------------------------------------------------------ */

static unsigned int nr_memories, nr_blocks;
static struct emugpu_alloc last_alloc;
static CUdeviceptr last_free;
static CUresult next_answer;		/* result of the next call that creates memory or a block */
static bool locked;
static struct alloc_info *freed_then;	/* freed by another thread at the next unlock */

void lib_lock(void)
{
	assert_false(locked);
	locked = true;
}

void lib_unlock(void)
{
	assert_true(locked);
	locked = false;
	if (freed_then)
		freed_then->kind = ALLOC_VMM;
}

CUresult lib_ready(void)
{
	return CUDA_SUCCESS;
}

const struct emugpu_info *device_get(CUdevice dev)
{
	static const struct emugpu_info gpus[2] = { [1] = { .gpu = 5 } };

	return dev >= 0 && dev < 2 ? &gpus[dev] : NULL;
}

static CUresult answer(unsigned int *made)
{
	CUresult err = next_answer;

	assert_false(locked);
	next_answer = CUDA_SUCCESS;
	*made += !err;
	return err;
}

CUresult node_memory(unsigned int gpu, size_t size, unsigned int *memory)
{
	assert_int_equal(gpu, 5);
	assert_int_equal(size, SIZE);
	*memory = 42;
	return answer(&nr_memories);
}

CUresult node_drop(unsigned int id)
{
	assert_false(locked);
	assert_int_equal(id, 42);
	assert_int_equal(nr_blocks, 0);
	nr_memories--;
	return CUDA_SUCCESS;
}

CUresult node_alloc(struct emugpu_alloc *arg)
{
	last_alloc = *arg;
	return answer(&nr_blocks);
}

CUresult node_free(CUdeviceptr addr)
{
	assert_false(locked);
	last_free = addr;
	nr_blocks--;
	return CUDA_SUCCESS;
}

/* ---- tests -------------------------------------------------------------------------- */

static CUmemAllocationProp prop = {
	.type = CU_MEM_ALLOCATION_TYPE_PINNED,
	.location = { CU_MEM_LOCATION_TYPE_DEVICE, 1 },
	.allocFlags = { .compressionType = 1, .gpuDirectRDMACapable = 1 },
};
static const CUmemAccessDesc all[] = {
	{ { CU_MEM_LOCATION_TYPE_DEVICE, 0 }, CU_MEM_ACCESS_FLAGS_PROT_READWRITE },
	{ { CU_MEM_LOCATION_TYPE_DEVICE, 1 }, CU_MEM_ACCESS_FLAGS_PROT_READWRITE },
};
static const CUmemAccessDesc none[] = {
	{ { CU_MEM_LOCATION_TYPE_DEVICE, 0 }, CU_MEM_ACCESS_FLAGS_PROT_NONE },
	{ { CU_MEM_LOCATION_TYPE_DEVICE, 1 }, CU_MEM_ACCESS_FLAGS_PROT_NONE },
};
static CUdeviceptr va;
static CUmemGenericAllocationHandle memory;

#define OK(call) assert_int_equal(call, CUDA_SUCCESS)

static int setup(void **state)
{
	(void)state;
	if (space_reserve() || cuMemAddressReserve(&va, 2 * SIZE, 0, 0, 0))
		return -1;
	return cuMemCreate(&memory, SIZE, &prop, 0);
}

/* Each test must release @memory and unmap each mapping. */
static int teardown(void **state)
{
	(void)state;
	return cuMemAddressFree(va, 2 * SIZE) || nr_memories || nr_blocks;
}

static void test_blocks_come_with_access(void **state)
{
	(void)state;
	OK(cuMemMap(va, SIZE, 0, memory, 0));
	assert_int_equal(nr_blocks, 0);
	OK(cuMemSetAccess(va, SIZE, all, 1));
	assert_int_equal(nr_blocks, 1);
	assert_true(last_alloc.gpu == 5 && last_alloc.va == va && last_alloc.size == SIZE);
	assert_true(last_alloc.memory == 42 && !last_alloc.offset && !last_alloc.context && !last_alloc.flags);
	OK(cuMemSetAccess(va, SIZE, all, 2));
	OK(cuMemSetAccess(va, SIZE, none, 1));
	assert_int_equal(nr_blocks, 1);
	OK(cuMemSetAccess(va, SIZE, none + 1, 1));
	assert_int_equal(nr_blocks, 0);
	assert_int_equal(last_free, va);
	OK(cuMemUnmap(va, SIZE));
	OK(cuMemRelease(memory));
}

static void test_access_is_per_gpu(void **state)
{
	static const CUmemAccess_flags read = CU_MEM_ACCESS_FLAGS_PROT_READ;
	const CUmemAccessDesc desc[] = { { all[0].location, read }, { all[1].location, read } };
	unsigned long long flags;
	struct alloc_info info;

	(void)state;
	OK(cuMemMap(va, SIZE, 0, memory, 0));
	assert_true(alloc_find(va, &info) && info.access == CU_MEM_ACCESS_FLAGS_PROT_NONE);
	OK(cuMemSetAccess(va, SIZE, desc, 2));
	assert_true(alloc_find(va, &info) && info.access == read);
	OK(cuMemSetAccess(va, SIZE, all + 1, 1));
	OK(cuMemGetAccess(&flags, &all[0].location, va));
	assert_int_equal(flags, read);
	OK(cuMemGetAccess(&flags, &all[1].location, va));
	assert_int_equal(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
	assert_true(alloc_find(va, &info) && info.access == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
	OK(cuMemSetAccess(va, SIZE, none, 1));
	OK(cuMemSetAccess(va, SIZE, desc + 1, 1));
	assert_int_equal(nr_blocks, 1);
	OK(cuMemUnmap(va, SIZE));
	OK(cuMemRelease(memory));
}

static void test_range_is_the_reservation(void **state)
{
	CUdeviceptr begin;
	struct alloc_info info;
	size_t size;

	(void)state;
	assert_true(reserve_find(va + 5, &begin, &size) && begin == va && size == 2 * SIZE);
	assert_false(reserve_find(va + 2 * SIZE, &begin, &size));
	OK(cuMemMap(va + SIZE, SIZE, 0, memory, 0));
	assert_true(alloc_find(va + SIZE, &info) && info.range == va && info.range_size == 2 * SIZE);
	assert_true(info.addr == va + SIZE && info.mapping == va + SIZE && info.mapping_size == SIZE);
	OK(cuMemUnmap(va, 2 * SIZE));
	OK(cuMemUnmap(va, 2 * SIZE));
	assert_int_equal(cuMemUnmap(va, 3 * SIZE), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuMemUnmap(va + 4096, SIZE), CUDA_ERROR_INVALID_VALUE);
	OK(cuMemRelease(memory));
}

static void test_memory_is_mapped_whole(void **state)
{
	(void)state;
	assert_int_equal(cuMemMap(va, SIZE / 2, 0, memory, 0), CUDA_ERROR_NOT_SUPPORTED);
	assert_int_equal(cuMemMap(va, SIZE / 2, SIZE / 2, memory, 0), CUDA_ERROR_NOT_SUPPORTED);
	assert_int_equal(cuMemMap(va, 2 * SIZE, 0, memory, 0), CUDA_ERROR_NOT_SUPPORTED);
	assert_int_equal(cuMemMap(va + 4096, SIZE, 0, memory, 0), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuMemMap(va + SIZE + SIZE / 2, SIZE, 0, memory, 0), CUDA_ERROR_INVALID_VALUE);
	OK(cuMemMap(va + SIZE / 2, SIZE, 0, memory, 0));
	assert_int_equal(cuMemMap(va + SIZE, SIZE, 0, memory, 0), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuMemUnmap(va, SIZE), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuMemUnmap(va + SIZE, SIZE), CUDA_ERROR_INVALID_VALUE);
	OK(cuMemUnmap(va + SIZE / 2, SIZE));
	OK(cuMemRelease(memory));
}

static void test_last_user_frees_memory(void **state)
{
	CUmemGenericAllocationHandle again;

	(void)state;
	OK(cuMemMap(va, SIZE, 0, memory, 0));
	OK(cuMemMap(va + SIZE, SIZE, 0, memory, 0));
	OK(cuMemSetAccess(va + SIZE, SIZE, all, 1));
	OK(cuMemRelease(memory));
	assert_int_equal(cuMemRelease(memory), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuMemMap(va, SIZE, 0, memory, 0), CUDA_ERROR_INVALID_VALUE);
	OK(cuMemUnmap(va, SIZE));
	assert_int_equal(nr_memories, 1);
	OK(cuMemRetainAllocationHandle(&again, (void *)(uintptr_t)(va + SIZE)));
	OK(cuMemUnmap(va + SIZE, SIZE));
	assert_int_equal(nr_memories, 1);
	OK(cuMemRelease(again));
	assert_int_equal(nr_memories, 0);
}

static void test_failed_calls_leave_nothing(void **state)
{
	CUmemGenericAllocationHandle other;
	unsigned long long flags;

	(void)state;
	next_answer = CUDA_ERROR_OUT_OF_MEMORY;
	assert_int_equal(cuMemCreate(&other, SIZE, &prop, 0), CUDA_ERROR_OUT_OF_MEMORY);
	OK(cuMemMap(va, SIZE, 0, memory, 0));
	next_answer = CUDA_ERROR_OUT_OF_MEMORY;
	assert_int_equal(cuMemSetAccess(va, SIZE, all, 1), CUDA_ERROR_OUT_OF_MEMORY);
	OK(cuMemGetAccess(&flags, &all[0].location, va));
	assert_int_equal(flags, CU_MEM_ACCESS_FLAGS_PROT_NONE);
	OK(cuMemSetAccess(va, SIZE, all, 1));
	assert_int_equal(cuMemAddressFree(va, 2 * SIZE), CUDA_ERROR_INVALID_VALUE);
	OK(cuMemUnmap(va, SIZE));
	OK(cuMemRelease(memory));
}

/* A mapping lasts while the VMM lock is held. Other memory may be freed under this lock. */
static void test_other_memory_needs_its_lock(void **state)
{
	struct {
		void *memory;
		uint32_t access;
		struct alloc_info info;
	} other = {
		.memory = (void *)(uintptr_t)memory,
		.info = { .kind = ALLOC_DEVICE, .addr = va, .size = SIZE },
	};
	CUmemGenericAllocationHandle again;

	(void)state;
	assert_true(alloc_add(&other.info));
	freed_then = &other.info;
	assert_int_equal(cuMemRetainAllocationHandle(&again, (void *)(uintptr_t)va), CUDA_ERROR_INVALID_VALUE);
	freed_then = NULL;
	alloc_remove(&other.info);
	OK(cuMemRelease(memory));
}

static void test_hints_are_used_if_possible(void **state)
{
	CUmemAllocationProp got;
	CUdeviceptr addr;

	(void)state;
	OK(cuMemGetAllocationPropertiesFromHandle(&got, memory));
	assert_int_equal(got.allocFlags.compressionType, 0);
	assert_int_equal(got.allocFlags.gpuDirectRDMACapable, 1);
	OK(cuMemAddressReserve(&addr, SIZE, 0, va + 16 * SIZE, 0));
	assert_true(addr == va + 16 * SIZE);
	OK(cuMemAddressFree(addr, SIZE));
	OK(cuMemAddressReserve(&addr, SIZE, 0, va + SIZE, 0));
	assert_true(addr >= va + 2 * SIZE || addr + SIZE <= va);
	OK(cuMemAddressFree(addr, SIZE));
	OK(cuMemRelease(memory));
}

static void test_unsupported_features_are_refused(void **state)
{
	CUmemAllocationProp other = prop;
	CUmemAccessDesc desc = all[0];
	CUmemGenericAllocationHandle h;

	(void)state;
	other.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
	assert_int_equal(cuMemCreate(&h, SIZE, &other, 0), CUDA_ERROR_NOT_SUPPORTED);
	other = prop;
	other.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA;
	assert_int_equal(cuMemCreate(&h, SIZE, &other, 0), CUDA_ERROR_NOT_SUPPORTED);
	OK(cuMemMap(va, SIZE, 0, memory, 0));
	desc.location.type = CU_MEM_LOCATION_TYPE_HOST;
	assert_int_equal(cuMemSetAccess(va, SIZE, &desc, 1), CUDA_ERROR_NOT_SUPPORTED);
	desc = all[0];
	desc.flags = 2;
	assert_int_equal(cuMemSetAccess(va, SIZE, &desc, 1), CUDA_ERROR_INVALID_VALUE);
	OK(cuMemUnmap(va, SIZE));
	OK(cuMemRelease(memory));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_blocks_come_with_access, setup, teardown),
		cmocka_unit_test_setup_teardown(test_access_is_per_gpu, setup, teardown),
		cmocka_unit_test_setup_teardown(test_range_is_the_reservation, setup, teardown),
		cmocka_unit_test_setup_teardown(test_memory_is_mapped_whole, setup, teardown),
		cmocka_unit_test_setup_teardown(test_last_user_frees_memory, setup, teardown),
		cmocka_unit_test_setup_teardown(test_failed_calls_leave_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(test_other_memory_needs_its_lock, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hints_are_used_if_possible, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unsupported_features_are_refused, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
