// SPDX-License-Identifier: MIT
/*
 * GPU memory that a program maps itself: cuMemCreate() to cuMemUnmap(). Each
 * case has memory and addresses of its own. Passes on a real GPU too, but for
 * what says otherwise.
 */
#include "cu.h"

#define MIB ((size_t)1 << 20)

enum { UNSET = 0x5a5a5a5a };

static const CUmemLocation here = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 };
static const CUmemAccessDesc readwrite = { { CU_MEM_LOCATION_TYPE_DEVICE, 0 }, CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
static const CUmemAccessDesc readonly = { { CU_MEM_LOCATION_TYPE_DEVICE, 0 }, CU_MEM_ACCESS_FLAGS_PROT_READ };
static const CUmemAccessDesc none = { { CU_MEM_LOCATION_TYPE_DEVICE, 0 }, CU_MEM_ACCESS_FLAGS_PROT_NONE };
static const size_t unit = 2 << 20;	/* of sizes and addresses */
static unsigned char bytes[4 << 20], back[4 << 20];

static CUmemAllocationProp prop(bool rdma)
{
	CUmemAllocationProp p = { .type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = here };

	p.allocFlags.gpuDirectRDMACapable = rdma;
	return p;
}

static size_t free_memory(void)
{
	size_t available = 0, total;

	return cuMemGetInfo(&available, &total) ? 0 : available;
}

/* ---- four units of addresses and two of memory ---------------------------------------- */

static CUdeviceptr va;
static CUmemGenericAllocationHandle memory;

static void set_up(void)
{
	CUmemAllocationProp p = prop(true);

	OK(cuMemAddressReserve(&va, 4 * unit, 0, 0, 0));
	OK(cuMemCreate(&memory, 2 * unit, &p, 0));
}

static void map_at(CUdeviceptr at)
{
	OK(cuMemMap(at, 2 * unit, 0, memory, 0));
	OK(cuMemSetAccess(at, 2 * unit, &readwrite, 1));
}

static void set_up_mapped(void)
{
	set_up();
	if (vmtest_result == VMTEST_OK)
		map_at(va);
}

static void tear_down(void)
{
	OK(cuMemUnmap(va, 4 * unit));
	OK(cuMemRelease(memory));
	OK(cuMemAddressFree(va, 4 * unit));
}

static int get_int(CUpointer_attribute which, CUdeviceptr p)
{
	int value = UNSET;

	return cuPointerGetAttribute(&value, which, p) ? -1 : value;
}

static uint64_t get_word(CUpointer_attribute which, CUdeviceptr p)
{
	uint64_t value = UNSET;

	return cuPointerGetAttribute(&value, which, p) ? UNSET : value;
}

static unsigned long long access_of(CUdeviceptr p)
{
	unsigned long long flags = UNSET;

	return cuMemGetAccess(&flags, &here, p) ? UNSET : flags;
}

CASE(there_is_a_gpu)
{
	EXPECT(cu_start(0), "no GPU");
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = i * 2654435761u >> 13;
}

/* ---- memory and addresses ------------------------------------------------------------- */

CASE(granularity)
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

CASE(memory_that_cannot_be)
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

CASE(memory_without_an_address)
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
	EXPECT(!cu_buffer_id(va), "it is memory already");
	tear_down();
}

CASE(addresses_are_given_back)
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

/* ---- mappings -------------------------------------------------------------------------- */

/* Other than here, a real driver can export it as a dma-buf before. */
CASE(no_access_until_it_is_set)
{
	CUpointer_attribute which[] = { CU_POINTER_ATTRIBUTE_DEVICE_POINTER };
	CUdeviceptr seen = UNSET;
	void *data[] = { &seen };
	size_t size;

	set_up();
	CHECK_CASE();
	OK(cuMemMap(va, 2 * unit, 0, memory, 0));
	EXPECT(access_of(va) == CU_MEM_ACCESS_FLAGS_PROT_NONE, "%#llx", access_of(va));
	EXPECT(cu_buffer_id(va), "no buffer id");
	IS(cuMemcpyHtoD(va, bytes, 100), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemsetD8(va, 0, 100), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemGetAddressRange(&seen, &size, va), CUDA_ERROR_NOT_FOUND);
	IS(cuPointerGetAttribute(&seen, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, va), CUDA_ERROR_INVALID_VALUE);
	OK(cuPointerGetAttributes(1, which, data, va));
	EXPECT(!seen, "%#llx", seen);
	OK(cuMemSetAccess(va, 2 * unit, &readwrite, 1));
	EXPECT(access_of(va + unit + 5) == CU_MEM_ACCESS_FLAGS_PROT_READWRITE, "%#llx", access_of(va + unit + 5));
	OK(cuMemcpyHtoD(va, bytes, 2 * unit));
	OK(cuMemcpyDtoH(back, va, 2 * unit));
	EXPECT(!memcmp(bytes, back, 2 * unit), "bytes differ");
	tear_down();
}

CASE(access_that_cannot_be)
{
	CUmemAccessDesc desc = readwrite;

	set_up_mapped();
	CHECK_CASE();
	desc.location.id = 99;
	IS(cuMemSetAccess(va, 2 * unit, &desc, 1), CUDA_ERROR_INVALID_VALUE);
	desc = readwrite;
	desc.flags = (CUmemAccess_flags)2;
	IS(cuMemSetAccess(va, 2 * unit, &desc, 1), CUDA_ERROR_INVALID_VALUE);
	desc = readwrite;
	desc.location.type = CU_MEM_LOCATION_TYPE_HOST;
	IS(cuMemSetAccess(va, 2 * unit, &desc, 1), CUDA_ERROR_NOT_SUPPORTED);
	IS(cuMemSetAccess(va, 2 * unit, NULL, 1), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemSetAccess(va, 2 * unit, &readwrite, 0), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemSetAccess(va, unit, &readwrite, 1), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemSetAccess(va, 3 * unit, &readwrite, 1), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemSetAccess(va + 2 * unit, unit, &readwrite, 1), CUDA_ERROR_INVALID_VALUE);
	tear_down();
}

CASE(access_to_read_only)
{
	set_up_mapped();
	CHECK_CASE();
	OK(cuMemcpyHtoD(va, bytes, 1000));
	OK(cuMemSetAccess(va, 2 * unit, &readonly, 1));
	EXPECT(access_of(va) == CU_MEM_ACCESS_FLAGS_PROT_READ, "%#llx", access_of(va));
	IS(cuMemcpyHtoD(va, back, 1000), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemsetD8(va, 0, 1000), CUDA_ERROR_INVALID_VALUE);
	OK(cuMemcpyDtoH(back, va, 1000));
	EXPECT(!memcmp(bytes, back, 1000), "bytes differ");
	tear_down();
}

CASE(access_can_be_taken_away)
{
	set_up_mapped();
	CHECK_CASE();
	OK(cuMemcpyHtoD(va + 5, bytes, 1000));
	OK(cuMemSetAccess(va, 2 * unit, &none, 1));
	IS(cuMemcpyDtoH(back, va, 100), CUDA_ERROR_INVALID_VALUE);
	OK(cuMemSetAccess(va, 2 * unit, &readwrite, 1));
	OK(cuMemcpyDtoH(back, va + 5, 1000));
	EXPECT(!memcmp(back, bytes, 1000), "its bytes are gone");
	tear_down();
}

CASE(access_to_memory_of_cuMemAlloc)
{
	CUdeviceptr p;

	OK(cuMemAlloc(&p, unit));
	EXPECT(access_of(p) == CU_MEM_ACCESS_FLAGS_PROT_READWRITE, "%#llx", access_of(p));
	EXPECT(access_of((uintptr_t)bytes) == UNSET, "of the CPU's");
	OK(cuMemFree(p));
}

CASE(attributes_of_mapped_memory)
{
	CUpointer_attribute which[] = { CU_POINTER_ATTRIBUTE_CONTEXT, CU_POINTER_ATTRIBUTE_IS_MANAGED };
	CUDA_POINTER_ATTRIBUTE_P2P_TOKENS tokens;
	CUcontext ctx = (CUcontext)-1;
	int managed = UNSET, on = 1;
	void *data[] = { &ctx, &managed };
	CUdeviceptr p;

	set_up_mapped();
	CHECK_CASE();
	p = va + unit + 4097;
	EXPECT(get_int(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p) == CU_MEMORYTYPE_DEVICE, "type");
	EXPECT(get_int(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, p) == 0, "device");
	EXPECT(get_int(CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE, p) == 1, "not for peers");
	EXPECT(get_int(CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, p) == CU_MEM_ACCESS_FLAGS_PROT_READWRITE, "no access");
	EXPECT(cu_buffer_id(p), "no buffer id");
	OK(cuPointerGetAttributes(2, which, data, p));
	EXPECT(!ctx && !managed, "%p %d", (void *)ctx, managed);
	IS(cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, p), CUDA_ERROR_NOT_SUPPORTED);
	OK(cuPointerGetAttribute(&tokens, CU_POINTER_ATTRIBUTE_P2P_TOKENS, p));
	EXPECT(!tokens.p2pToken && tokens.vaSpaceToken, "%#llx %#x", tokens.p2pToken, tokens.vaSpaceToken);
	EXPECT(get_int(CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, p) == 1, "a peer was not announced");
	tear_down();
}

/* A registration cache that takes the attributes for an allocation pins addresses without memory. */
CASE(its_range_is_the_reservation_and_its_mapping_is_not)
{
	CUdeviceptr base;
	size_t size;

	set_up();
	CHECK_CASE();
	map_at(va + unit);
	CHECK_CASE();
	EXPECT(get_word(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, va + 2 * unit) == va, "start");
	EXPECT(get_word(CU_POINTER_ATTRIBUTE_RANGE_SIZE, va + 2 * unit) == 4 * unit, "size");
	EXPECT(get_word(CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR, va + 2 * unit) == va + unit, "mapping");
	EXPECT(get_word(CU_POINTER_ATTRIBUTE_MAPPING_SIZE, va + 2 * unit) == 2 * unit, "mapping's size");
	OK(cuMemGetAddressRange(&base, &size, va + 2 * unit + 1));
	EXPECT(base == va + unit && size == 2 * unit, "%#llx %zu", base, size);
	IS(cuMemFree(va + unit), CUDA_ERROR_INVALID_VALUE);
	tear_down();
}

CASE(what_is_only_reserved_has_a_range_in_lists)
{
	CUpointer_attribute which[] = { CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_RANGE_SIZE,
					CU_POINTER_ATTRIBUTE_BUFFER_ID };
	uint64_t start = UNSET, size = UNSET, id = UNSET;
	void *data[] = { &start, &size, &id };

	set_up();
	CHECK_CASE();
	OK(cuPointerGetAttributes(3, which, data, va + unit));
	EXPECT(start == va && size == 4 * unit && !id, "%#lx %#lx %lu", start, size, id);
	EXPECT(get_word(CU_POINTER_ATTRIBUTE_RANGE_SIZE, va) == UNSET, "also alone");
	tear_down();
}

CASE(maps_that_cannot_be)
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
	/* a real driver lets a mapping begin in the reservation and end behind it */
	if (cu_emulated())
		IS(cuMemMap(va + 3 * unit, 2 * unit, 0, memory, 0), CUDA_ERROR_INVALID_VALUE);
	tear_down();
}

CASE(memory_is_mapped_whole)
{
	set_up();
	CHECK_CASE();
	IS(cuMemMap(va, unit, 0, memory, 0), CUDA_ERROR_NOT_SUPPORTED);
	IS(cuMemMap(va, unit, unit, memory, 0), CUDA_ERROR_NOT_SUPPORTED);
	IS(cuMemMap(va, unit + 4096, 0, memory, 0), CUDA_ERROR_NOT_SUPPORTED);
	IS(cuMemMap(va, 3 * unit, 0, memory, 0), CUDA_ERROR_NOT_SUPPORTED);
	tear_down();
}

CASE(handles_that_are_none)
{
	CUmemAllocationProp got;
	CUmemGenericAllocationHandle h;

	if (!cu_emulated())
		SKIP("this driver may crash");
	set_up();
	CHECK_CASE();
	IS(cuMemRelease(memory + 1), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemRelease(0), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemMap(va + 2 * unit, 2 * unit, 0, memory + 8, 0), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemGetAllocationPropertiesFromHandle(&got, memory + 8), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemRetainAllocationHandle(&h, bytes), CUDA_ERROR_INVALID_VALUE);
	tear_down();
}

CASE(one_memory_at_two_addresses)
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
	EXPECT(cu_buffer_id(va) != cu_buffer_id(va + 2 * unit), "one buffer id");
	EXPECT(get_word(CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID, va) ==
	       get_word(CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID, va + 2 * unit), "two blocks");
	OK(cuMemUnmap(va + 2 * unit, 2 * unit));
	EXPECT(!cu_buffer_id(va + 2 * unit), "still mapped");
	OK(cuMemcpyDtoH(back, va + 5, 1000));
	EXPECT(!memcmp(back, bytes, 1000), "the first mapping is damaged");
	tear_down();
}

CASE(memory_lives_while_it_is_mapped)
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
	EXPECT(again == memory, "another handle");
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

CASE(a_range_of_several_mappings)
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

CASE(where_nothing_is_mapped_unmapping_does_nothing)
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

/* But a dma-buf of it can be had, on a real GPU too. */
CASE(memory_that_is_not_for_peers_that_pin)
{
	CUmemGenericAllocationHandle h;
	CUmemAllocationProp p = prop(false);
	int fd = -1;

	set_up();
	CHECK_CASE();
	OK(cuMemCreate(&h, unit, &p, 0));
	OK(cuMemMap(va, unit, 0, h, 0));
	OK(cuMemRelease(h));
	OK(cuMemSetAccess(va, unit, &readwrite, 1));
	EXPECT(get_int(CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE, va) == 0, "for peers");
	OK(cuMemGetHandleForAddressRange(&fd, va, unit, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0));
	close(fd);
	tear_down();
}

CASE(access_of_two_gpus)
{
	CUmemAccessDesc both[] = { readwrite, readwrite };
	CUmemAllocationProp p = prop(true);
	CUmemGenericAllocationHandle h;
	unsigned long long flags = UNSET;
	int n, can = 0;

	OK(cuDeviceGetCount(&n));
	if (n < 2)
		SKIP("there is one");
	OK(cuDeviceCanAccessPeer(&can, 0, 1));
	if (!can)
		SKIP("they cannot reach each other");
	set_up();
	CHECK_CASE();
	both[1].location.id = p.location.id = 1;
	OK(cuMemCreate(&h, unit, &p, 0));
	OK(cuMemMap(va, unit, 0, h, 0));
	OK(cuMemRelease(h));
	EXPECT(get_int(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, va) == 1, "on another GPU");
	OK(cuMemSetAccess(va, unit, both, 2));
	OK(cuMemcpyHtoD(va, bytes, 1000));
	OK(cuMemSetAccess(va, unit, &readonly, 1));
	EXPECT(access_of(va) == CU_MEM_ACCESS_FLAGS_PROT_READ, "%#llx", access_of(va));
	OK(cuMemSetAccess(va, unit, &none, 1));
	EXPECT(access_of(va) == CU_MEM_ACCESS_FLAGS_PROT_NONE, "%#llx", access_of(va));
	OK(cuMemGetAccess(&flags, &both[1].location, va));
	EXPECT(flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE, "%#llx", flags);
	tear_down();
}

VMTEST_MAIN
