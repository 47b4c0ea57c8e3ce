// SPDX-License-Identifier: MIT
/* Access to memory that is mapped with the VMM API, and the attributes of this memory. */
#include "vmm.h"

static const CUmemAccessDesc readonly = { { CU_MEM_LOCATION_TYPE_DEVICE, 0 }, CU_MEM_ACCESS_FLAGS_PROT_READ };
static const CUmemAccessDesc none = { { CU_MEM_LOCATION_TYPE_DEVICE, 0 }, CU_MEM_ACCESS_FLAGS_PROT_NONE };

static int get_int(CUpointer_attribute which, CUdeviceptr p)
{
	int value = UNSET;

	return cuPointerGetAttribute(&value, which, p) ? -1 : value;
}

static unsigned long long access_of(CUdeviceptr p)
{
	unsigned long long flags = UNSET;

	return cuMemGetAccess(&flags, &here, p) ? UNSET : flags;
}

SETUP(there_is_a_gpu)
{
	vmm_start();
}

/* Without access, NVIDIA's driver still exports the memory as a dma-buf; the emulated driver does not. */
CASE(no_access_until_access_is_set)
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

CASE(bad_access_is_refused)
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

CASE(access_can_be_read_only)
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
	EXPECT(!memcmp(back, bytes, 1000), "the bytes were lost");
	tear_down();
}

CASE(access_of_other_memory_is_none)
{
	CUdeviceptr p;
	void *h;

	OK(cuMemAlloc(&p, unit));
	OK(cuMemAllocHost(&h, 100));
	EXPECT(access_of(p + 5) == CU_MEM_ACCESS_FLAGS_PROT_NONE, "%#llx", access_of(p + 5));
	EXPECT(access_of((uintptr_t)h) == CU_MEM_ACCESS_FLAGS_PROT_NONE, "%#llx", access_of((uintptr_t)h));
	EXPECT(access_of((uintptr_t)bytes) == UNSET, "access flags of plain host memory");
	OK(cuMemFreeHost(h));
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
	EXPECT(get_int(CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE, p) ==
	       cu_attribute(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED), "not for peers");
	EXPECT(get_int(CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, p) == CU_MEM_ACCESS_FLAGS_PROT_READWRITE, "no access");
	EXPECT(cu_buffer_id(p), "no buffer id");
	OK(cuPointerGetAttributes(2, which, data, p));
	EXPECT(!ctx && !managed, "%p %d", (void *)ctx, managed);
	IS(cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, p), CUDA_ERROR_NOT_SUPPORTED);
	OK(cuPointerGetAttribute(&tokens, CU_POINTER_ATTRIBUTE_P2P_TOKENS, p));
	EXPECT(!tokens.p2pToken && tokens.vaSpaceToken, "%#llx %#x", tokens.p2pToken, tokens.vaSpaceToken);
	EXPECT(get_int(CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, p) == 1, "reading the tokens did not set SYNC_MEMOPS");
	tear_down();
}

/* RANGE_* covers the reservation. A cache that takes it for an allocation would pin addresses without memory. */
CASE(range_is_the_whole_reservation)
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

CASE(reserved_addresses_have_a_range)
{
	CUpointer_attribute which[] = { CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_RANGE_SIZE,
					CU_POINTER_ATTRIBUTE_BUFFER_ID };
	uint64_t start = UNSET, size = UNSET, id = UNSET;
	void *data[] = { &start, &size, &id };

	set_up();
	CHECK_CASE();
	OK(cuPointerGetAttributes(3, which, data, va + unit));
	EXPECT(start == va && size == 4 * unit && !id, "%#lx %#lx %lu", start, size, id);
	EXPECT(get_word(CU_POINTER_ATTRIBUTE_RANGE_SIZE, va) == UNSET,
	       "RANGE_SIZE alone succeeds for reserved addresses");
	tear_down();
}

/* ---- dma-bufs: the results of an H200 with driver 580 ---------------------------------- */

static void map_one(CUdeviceptr at, bool rdma)
{
	CUmemGenericAllocationHandle h;
	CUmemAllocationProp p = prop(rdma);

	OK(cuMemCreate(&h, unit, &p, 0));
	OK(cuMemMap(at, unit, 0, h, 0));
	OK(cuMemRelease(h));
	OK(cuMemSetAccess(at, unit, &readwrite, 1));
}

static CUresult export_with(CUdeviceptr at, size_t size, unsigned long long flags)
{
	int fd = -1;
	CUresult err = cuMemGetHandleForAddressRange(&fd, at, size, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, flags);

	if (err)
		return err;
	err = lseek(fd, 0, SEEK_END) == (off_t)size ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
	close(fd);
	return err;
}

static int if_supported(void)
{
	return cu_attribute(CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED) ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

CASE(memory_without_rdma_flag_exports)
{
	set_up();
	CHECK_CASE();
	map_one(va, false);
	EXPECT(get_int(CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE, va) == 0, "the memory is RDMA capable");
	IS(export_with(va, unit, 0), if_supported());
	tear_down();
}

CASE(handles_side_by_side_export_together)
{
	set_up();
	CHECK_CASE();
	map_one(va, true);
	map_one(va + unit, true);
	map_one(va + 2 * unit, false);
	CHECK_CASE();
	IS(export_with(va, 2 * unit, 0), if_supported());
	IS(export_with(va, 3 * unit, 0), if_supported());
	IS(export_with(va + unit / 2, unit, 0), if_supported());
	IS(export_with(va + 2 * unit - 4096, 8192, 0), if_supported());
	tear_down();
}

CASE(export_needs_memory_everywhere)
{
	set_up();
	CHECK_CASE();
	map_one(va, true);
	map_one(va + 2 * unit, true);
	CHECK_CASE();
	IS(export_with(va, 2 * unit, 0), CUDA_ERROR_INVALID_VALUE);
	IS(export_with(va, 3 * unit, 0), CUDA_ERROR_INVALID_VALUE);
	IS(export_with(va + unit, unit, 0), CUDA_ERROR_INVALID_VALUE);
	IS(export_with(va + 2 * unit, 2 * unit, 0), CUDA_ERROR_INVALID_VALUE);
	IS(export_with(va, unit, CU_MEM_RANGE_FLAG_DMA_BUF_MAPPING_TYPE_PCIE), CUDA_ERROR_NOT_SUPPORTED);
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
		SKIP("one GPU only");
	OK(cuDeviceCanAccessPeer(&can, 0, 1));
	if (!can)
		SKIP("the GPUs cannot reach each other");
	set_up();
	CHECK_CASE();
	both[1].location.id = p.location.id = 1;
	OK(cuMemCreate(&h, unit, &p, 0));
	OK(cuMemMap(va, unit, 0, h, 0));
	OK(cuMemRelease(h));
	EXPECT(get_int(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, va) == 1, "wrong device ordinal");
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
