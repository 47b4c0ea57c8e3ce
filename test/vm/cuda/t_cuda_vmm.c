// SPDX-License-Identifier: MIT
/* GPU memory that a program maps itself: cuMemCreate() to cuMemUnmap(). */
#include "vmm.h"

#define MIB ((size_t)1 << 20)

static size_t free_memory(void)
{
	size_t available = 0, total;

	return cuMemGetInfo(&available, &total) ? 0 : available;
}

SETUP(there_is_a_gpu)
{
	vmm_start();
}

CASE(granularity_is_2_mib)
{
	CUmemAllocationProp p = prop(true);
	size_t n = 0;

	OK(cuMemGetAllocationGranularity(&n, &p, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
	EXPECT(n == unit, "%zu", n);
	OK(cuMemGetAllocationGranularity(&n, &p, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
	EXPECT(n == unit, "%zu", n);
	IS(cuMemGetAllocationGranularity(NULL, &p, CU_MEM_ALLOC_GRANULARITY_MINIMUM), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemGetAllocationGranularity(&n, &p, (CUmemAllocationGranularity_flags)2), CUDA_ERROR_INVALID_VALUE);
	p.type = CU_MEM_ALLOCATION_TYPE_INVALID;
	OK(cuMemGetAllocationGranularity(&n, &p, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
	p = prop(true);
	p.location.id = 99;
	OK(cuMemGetAllocationGranularity(&n, &p, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
}

CASE(bad_memory_is_refused)
{
	CUmemAllocationProp p = prop(true);

	IS(cuMemCreate(&memory, 0, &p, 0), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemCreate(&memory, unit + 4096, &p, 0), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemCreate(&memory, unit, &p, 1), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemCreate(&memory, unit, NULL, 0), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemCreate(NULL, unit, &p, 0), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemCreate(&memory, (size_t)1 << 50, &p, 0), CUDA_ERROR_OUT_OF_MEMORY);
	p.allocFlags.usage = 1;
	IS(cuMemCreate(&memory, unit, &p, 0), CUDA_ERROR_INVALID_VALUE);
	p = prop(true);
	p.type = CU_MEM_ALLOCATION_TYPE_INVALID;
	IS(cuMemCreate(&memory, unit, &p, 0), CUDA_ERROR_INVALID_VALUE);
	p = prop(true);
	p.location.id = 99;
	IS(cuMemCreate(&memory, unit, &p, 0), CUDA_ERROR_INVALID_DEVICE);
}

CASE(unmapped_memory_is_allocated)
{
	CUmemAllocationProp p = prop(true), got;
	size_t before = free_memory();

	OK(cuMemCreate(&memory, 2 * unit, &p, 0));
	EXPECT(before - free_memory() >= 2 * unit, "%zu left of %zu", free_memory(), before);
	OK(cuMemGetAllocationPropertiesFromHandle(&got, memory));
	EXPECT(got.type == p.type && got.location.type == p.location.type && got.location.id == 0, "%d %d %d", got.type,
	       got.location.type, got.location.id);
	EXPECT(got.allocFlags.gpuDirectRDMACapable == 1, "%d", got.allocFlags.gpuDirectRDMACapable);
	OK(cuMemRelease(memory));
}

CASE(addresses_are_reserved)
{
	CUdeviceptr aligned;

	set_up();
	CHECK_CASE();
	EXPECT(va && va % unit == 0, "%#llx", va);
	OK(cuMemAddressReserve(&aligned, unit, 64 * MIB, 0, 0));
	EXPECT(aligned % (64 * MIB) == 0, "%#llx", aligned);
	EXPECT(aligned + unit <= va || aligned >= va + 4 * unit, "twice the same");
	OK(cuMemAddressFree(aligned, unit));
	IS(cuMemAddressReserve(&aligned, 0, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemAddressReserve(&aligned, unit / 2, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemAddressReserve(&aligned, unit, 3, 0, 0), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemAddressReserve(&aligned, unit, 0, 0, 1), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemAddressFree(va, unit), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemAddressFree(va + unit, 3 * unit), CUDA_ERROR_INVALID_VALUE);
	EXPECT(!cu_buffer_id(va), "reserved addresses already have a buffer id");
	tear_down();
}

CASE(freed_addresses_are_reused)
{
	CUdeviceptr again;

	set_up();
	CHECK_CASE();
	OK(cuMemAddressFree(va, 4 * unit));
	IS(cuMemAddressFree(va, 4 * unit), CUDA_ERROR_INVALID_VALUE);
	OK(cuMemAddressReserve(&again, 4 * unit, 0, va, 0));
	EXPECT(again == va, "%#llx, not %#llx", again, va);
	tear_down();
}

CASE(bad_maps_are_refused)
{
	set_up_mapped();
	CHECK_CASE();
	IS(cuMemMap(va, 2 * unit, 0, memory, 0), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemMap(va + unit, 2 * unit, 0, memory, 0), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemMap(va + 2 * unit, 0, 0, memory, 0), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemMap(va + 2 * unit, 2 * unit, 0, memory, 1), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemUnmap(va, unit), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemUnmap(va + unit, unit), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemUnmap(va, 0), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemAddressFree(va, 4 * unit), CUDA_ERROR_INVALID_VALUE);
	/* NVIDIA's driver lets a mapping end after its reservation; the emulated driver does not. */
	if (cu_emulated())
		IS(cuMemMap(va + 3 * unit, 2 * unit, 0, memory, 0), CUDA_ERROR_INVALID_VALUE);
	tear_down();
}

CASE(only_whole_memory_is_mapped)
{
	set_up();
	CHECK_CASE();
	IS(cuMemMap(va, unit, 0, memory, 0), CUDA_ERROR_NOT_SUPPORTED);
	IS(cuMemMap(va, unit, unit, memory, 0), CUDA_ERROR_NOT_SUPPORTED);
	IS(cuMemMap(va, unit + 4096, 0, memory, 0), CUDA_ERROR_NOT_SUPPORTED);
	IS(cuMemMap(va + 4096, unit, 0, memory, 0), CUDA_ERROR_NOT_SUPPORTED);
	IS(cuMemMap(va + 4096, 2 * unit, 0, memory, 0), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemMap(va, 3 * unit, 0, memory, 0), CUDA_ERROR_NOT_SUPPORTED);
	tear_down();
}

CASE(bad_memory_handles_are_refused)
{
	CUmemAllocationProp got;
	CUmemGenericAllocationHandle h;

	if (!cu_emulated())
		SKIP("NVIDIA's driver may crash");
	set_up();
	CHECK_CASE();
	IS(cuMemRelease(memory + 1), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemRelease(0), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemMap(va + 2 * unit, 2 * unit, 0, memory + 8, 0), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemGetAllocationPropertiesFromHandle(&got, memory + 8), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemRetainAllocationHandle(&h, bytes), CUDA_ERROR_INVALID_VALUE);
	tear_down();
}

CASE(memory_is_mapped_at_two_addresses)
{
	set_up_mapped();
	CHECK_CASE();
	map_at(va + 2 * unit);
	CHECK_CASE();
	OK(cuMemsetD8(va, 0x11, 2 * unit));
	OK(cuMemcpyHtoD(va + 2 * unit + 5, bytes, 1000));
	memset(back, 0, sizeof(back));
	OK(cuMemcpyDtoH(back, va + 4, 1002));
	EXPECT(back[0] == 0x11 && !memcmp(back + 1, bytes, 1000) && back[1001] == 0x11, "not the same memory");
	EXPECT(cu_buffer_id(va) != cu_buffer_id(va + 2 * unit), "both mappings have one buffer id");
	EXPECT(get_word(CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID, va) ==
	       get_word(CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID, va + 2 * unit), "two blocks");
	OK(cuMemUnmap(va + 2 * unit, 2 * unit));
	EXPECT(!cu_buffer_id(va + 2 * unit), "still mapped");
	OK(cuMemcpyDtoH(back, va + 5, 1000));
	EXPECT(!memcmp(back, bytes, 1000), "the first mapping is damaged");
	tear_down();
}

CASE(mapped_memory_outlives_its_handle)
{
	CUmemGenericAllocationHandle again;
	size_t before;

	set_up_mapped();
	CHECK_CASE();
	OK(cuMemcpyHtoD(va + 5, bytes, 1000));
	before = free_memory();
	OK(cuMemRelease(memory));
	EXPECT(free_memory() == before, "freed");
	OK(cuMemcpyDtoH(back, va + 5, 1000));
	EXPECT(!memcmp(back, bytes, 1000), "bytes differ");
	OK(cuMemRetainAllocationHandle(&again, (void *)(uintptr_t)(va + unit)));
	EXPECT(again == memory, "retain gives another handle");
	OK(cuMemUnmap(va, 2 * unit));
	EXPECT(free_memory() == before, "freed with a handle left");
	map_at(va + unit);
	CHECK_CASE();
	OK(cuMemcpyDtoH(back, va + unit + 5, 1000));
	EXPECT(!memcmp(back, bytes, 1000), "bytes differ");
	OK(cuMemRelease(again));
	OK(cuMemUnmap(va + unit, 2 * unit));
	EXPECT(free_memory() >= before + 2 * unit, "%zu, %zu before", free_memory(), before);
	OK(cuMemAddressFree(va, 4 * unit));
}

CASE(only_vmm_memory_has_a_handle)
{
	CUmemGenericAllocationHandle h;
	CUdeviceptr p;

	OK(cuMemAlloc(&p, unit));
	IS(cuMemRetainAllocationHandle(&h, (void *)(uintptr_t)p), CUDA_ERROR_INVALID_VALUE);
	OK(cuMemFree(p));
}

static void map_one(CUdeviceptr at)
{
	CUmemGenericAllocationHandle one;
	CUmemAllocationProp p = prop(true);

	OK(cuMemCreate(&one, unit, &p, 0));
	OK(cuMemMap(at, unit, 0, one, 0));
	OK(cuMemRelease(one));
}

CASE(range_spans_several_mappings)
{
	set_up();
	CHECK_CASE();
	for (int i = 0; i < 4; i++)
		map_one(va + i * unit);
	CHECK_CASE();
	OK(cuMemSetAccess(va, 4 * unit, &readwrite, 1));
	OK(cuMemsetD8(va + 3 * unit, 1, unit));
	OK(cuMemcpyHtoD(va + unit - 1000, bytes, 2000));
	OK(cuMemcpyDtoH(back, va + unit - 1000, 2000));
	EXPECT(!memcmp(bytes, back, 2000), "bytes differ");
	OK(cuMemUnmap(va, 4 * unit));
	EXPECT(!cu_buffer_id(va) && !cu_buffer_id(va + 3 * unit), "still mapped");
	tear_down();
}

CASE(unmap_skips_unmapped_addresses)
{
	set_up();
	CHECK_CASE();
	OK(cuMemUnmap(va, unit));
	map_one(va + unit);
	CHECK_CASE();
	OK(cuMemUnmap(va, 3 * unit));
	EXPECT(!cu_buffer_id(va + unit), "still mapped");
	tear_down();
}

VMTEST_MAIN
