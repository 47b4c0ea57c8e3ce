// SPDX-License-Identifier: MIT
/* Memory from pools, in the order of streams. Passes on a real GPU, too. */
#include "cu.h"

#define MIB ((size_t)1 << 20)

enum { SIZE = (3 << 20) + 5, UNSET = 0x5a5a5a5a };

static CUmemoryPool standard;
static CUstream stream;
static unsigned char bytes[4 << 20], back[4 << 20];

static cuuint64_t get(CUmemoryPool pool, CUmemPool_attribute which)
{
	cuuint64_t value = UNSET;

	return cuMemPoolGetAttribute(pool, which, &value) ? UNSET : value;
}

static int get_flag(CUmemoryPool pool, CUmemPool_attribute which)
{
	int value = UNSET;

	return cuMemPoolGetAttribute(pool, which, &value) ? UNSET : value;
}

SETUP(there_is_a_gpu)
{
	EXPECT(cu_start(0), "no GPU");
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = i * 2654435761u >> 13;
}

CASE(gpu_has_a_default_pool)
{
	CUmemoryPool current;

	OK(cuDeviceGetDefaultMemPool(&standard, 0));
	EXPECT(standard, "NULL");
	OK(cuDeviceGetMemPool(&current, 0));
	EXPECT(current == standard, "the current pool is not the default pool");
	IS(cuDeviceGetDefaultMemPool(&current, 99), CUDA_ERROR_INVALID_DEVICE);
	IS(cuDeviceGetDefaultMemPool(NULL, 0), CUDA_ERROR_INVALID_VALUE);
	EXPECT(get(standard, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD) == 0, "the default pool keeps freed memory");
	EXPECT(get(standard, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) == 0, "memory of the default pool is in use");
	EXPECT(get_flag(standard, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC) == 1, "opportunistic reuse is off");
}

CASE(memory_from_the_default_pool)
{
	CUdeviceptr p;

	OK(cuMemAllocAsync(&p, SIZE, stream));
	OK(cuMemcpyHtoDAsync(p, bytes, SIZE, stream));
	OK(cuMemcpyDtoHAsync(back, p, SIZE, stream));
	OK(cuMemFreeAsync(p, stream));
	OK(cuStreamSynchronize(stream));
	EXPECT(!memcmp(bytes, back, SIZE), "bytes differ");
	EXPECT(!cu_buffer_id(p), "the freed memory still has a buffer id");
	EXPECT(get(standard, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) == 0, "still used");
}

/* Export as a dma-buf works, also on a real GPU. */
CASE(pool_memory_cannot_be_pinned)
{
	CUpointer_attribute which[] = { CU_POINTER_ATTRIBUTE_CONTEXT, CU_POINTER_ATTRIBUTE_MEMORY_TYPE };
	int capable = UNSET, type = UNSET;
	CUcontext owner = (CUcontext)-1;
	void *data[] = { &owner, &type };
	CUDA_POINTER_ATTRIBUTE_P2P_TOKENS tokens;
	CUmemoryPool pool = NULL;
	CUdeviceptr p;
	int fd = -1, off = 0;

	OK(cuMemAllocAsync(&p, SIZE, stream));
	OK(cuStreamSynchronize(stream));
	OK(cuPointerGetAttribute(&capable, CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE, p));
	EXPECT(capable == 0, "%d", capable);
	OK(cuPointerGetAttribute(&pool, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, p));
	EXPECT(pool == standard, "%p", (void *)pool);
	OK(cuPointerGetAttributes(2, which, data, p));
	EXPECT(!owner && type == CU_MEMORYTYPE_DEVICE, "%p %d", (void *)owner, type);
	IS(cuMemGetHandleForAddressRange(&fd, p, 2 * MIB, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0),
	   cu_attribute(CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED) ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED);
	close(fd);
	OK(cuPointerGetAttribute(&tokens, CU_POINTER_ATTRIBUTE_P2P_TOKENS, p));
	EXPECT(!tokens.p2pToken && tokens.vaSpaceToken, "%#llx %#x", tokens.p2pToken, tokens.vaSpaceToken);
	OK(cuPointerSetAttribute(&off, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, p));
	OK(cuMemFreeAsync(p, stream));
	OK(cuStreamSynchronize(stream));
}

static CUmemoryPool make_pool(void)
{
	CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED };
	CUmemoryPool pool;

	props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	return cuMemPoolCreate(&pool, &props) ? NULL : pool;
}

CASE(either_free_frees_pool_memory)
{
	CUmemoryPool pool = make_pool();
	CUdeviceptr p, q;

	EXPECT(pool, "no pool");
	OK(cuMemAllocFromPoolAsync(&p, 100, pool, stream));
	OK(cuMemAllocFromPoolAsync(&q, 100, pool, NULL));
	OK(cuStreamSynchronize(stream));
	OK(cuMemFree(p));
	IS(cuMemFree(p), CUDA_ERROR_INVALID_VALUE);
	OK(cuMemFreeAsync(q, NULL));
	OK(cuCtxSynchronize());
	/* NVIDIA's driver still counts the memory as used after cuMemFree(). */
	if (cu_emulated())
		EXPECT(get(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) == 0, "still used");
	OK(cuMemPoolDestroy(pool));
}

CASE(async_free_takes_cumemalloc_memory)
{
	CUdeviceptr p;

	OK(cuMemAlloc(&p, SIZE));
	OK(cuMemcpyHtoDAsync(p, bytes, SIZE, stream));
	OK(cuMemcpyDtoHAsync(back, p, SIZE, stream));
	OK(cuMemFreeAsync(p, stream));
	OK(cuStreamSynchronize(stream));
	EXPECT(!memcmp(bytes, back, SIZE), "bytes differ");
	EXPECT(!cu_buffer_id(p), "the freed memory still has a buffer id");
}

CASE(async_free_refuses_other_memory)
{
	CUdeviceptr p;
	void *h;

	OK(cuMemAllocManaged(&p, 100, CU_MEM_ATTACH_GLOBAL));
	IS(cuMemFreeAsync(p, stream), CUDA_ERROR_NOT_SUPPORTED);
	OK(cuMemFree(p));
	OK(cuMemAllocHost(&h, 100));
	IS(cuMemFreeAsync((uintptr_t)h, stream), CUDA_ERROR_INVALID_VALUE);
	OK(cuMemFreeHost(h));
}

CASE(zero_bytes_are_at_address_zero)
{
	CUdeviceptr p = 1;

	OK(cuMemAllocAsync(&p, 0, stream));
	EXPECT(!p, "%#llx", p);
	OK(cuMemFreeAsync(p, stream));
}

CASE(bad_pool_allocations_are_refused)
{
	CUdeviceptr p;

	IS(cuMemAllocAsync(NULL, 1, stream), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemAllocAsync(&p, (size_t)1 << 50, stream), CUDA_ERROR_OUT_OF_MEMORY);
	IS(cuMemFreeAsync((CUdeviceptr)(uintptr_t)bytes, stream), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemPoolGetAttribute(standard, (CUmemPool_attribute)99, &p), CUDA_ERROR_INVALID_VALUE);
	OK(cuMemAllocAsync(&p, 1000, stream));
	EXPECT(get(standard, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) == 1000, "the pool counts another size");
	IS(cuMemFreeAsync(p + 1, stream), CUDA_ERROR_INVALID_VALUE);
	OK(cuMemFreeAsync(p, stream));
	OK(cuStreamSynchronize(stream));
}

CASE(bad_pools_are_refused)
{
	CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED };
	CUmemoryPool pool;

	IS(cuMemPoolCreate(&pool, &props), CUDA_ERROR_INVALID_VALUE);
	props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	props.location.id = 99;
	IS(cuMemPoolCreate(&pool, &props), CUDA_ERROR_INVALID_VALUE);
	props.location.id = 0;
	props.allocType = CU_MEM_ALLOCATION_TYPE_INVALID;
	IS(cuMemPoolCreate(&pool, &props), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemPoolDestroy(standard), CUDA_ERROR_INVALID_VALUE);
}

/* Results of an H200: maxSize is rounded up to 32 MiB, and the pool reuses its kept memory. */
CASE(pool_is_limited_to_max_size)
{
	CUmemPoolProps props = {
		.allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location.type = CU_MEM_LOCATION_TYPE_DEVICE, .maxSize = 1,
	};
	cuuint64_t keep = 32 * MIB;
	CUdeviceptr p, q, none;
	CUmemoryPool pool;

	OK(cuMemPoolCreate(&pool, &props));
	OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep));
	IS(cuMemAllocFromPoolAsync(&none, 33 * MIB, pool, stream), CUDA_ERROR_OUT_OF_MEMORY);
	OK(cuMemAllocFromPoolAsync(&p, 16 * MIB, pool, stream));
	OK(cuMemAllocFromPoolAsync(&q, 16 * MIB, pool, stream));
	IS(cuMemAllocFromPoolAsync(&none, 1, pool, stream), CUDA_ERROR_OUT_OF_MEMORY);
	OK(cuMemFreeAsync(p, stream));
	OK(cuMemFreeAsync(q, stream));
	OK(cuStreamSynchronize(stream));
	EXPECT(get(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == 32 * MIB, "not kept");
	OK(cuMemAllocFromPoolAsync(&p, 32 * MIB, pool, stream));
	OK(cuMemFreeAsync(p, stream));
	OK(cuStreamSynchronize(stream));
	OK(cuMemPoolDestroy(pool));
}

CASE(pool_keeps_its_release_threshold)
{
	cuuint64_t keep = 64 * MIB;
	CUmemoryPool pool = make_pool();
	CUdeviceptr p;

	EXPECT(pool, "no pool");
	OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep));
	OK(cuMemAllocFromPoolAsync(&p, SIZE, pool, stream));
	EXPECT(get(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) >= SIZE, "not used");
	OK(cuMemFreeAsync(p, stream));
	OK(cuStreamSynchronize(stream));
	EXPECT(get(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) == 0, "still used");
	EXPECT(get(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH) >= SIZE, "never used");
	EXPECT(get(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) >= SIZE, "not kept");
	OK(cuMemPoolTrimTo(pool, 0));
	EXPECT(get(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == 0, "not trimmed");
	keep = 0;
	OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &keep));
	EXPECT(get(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH) == 0, "not reset");
	keep = 1;
	IS(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &keep), CUDA_ERROR_INVALID_VALUE);
	OK(cuMemPoolDestroy(pool));
}

CASE(device_pool_can_be_set)
{
	CUmemoryPool pool = make_pool(), seen = NULL;
	CUdeviceptr p;

	EXPECT(pool, "no pool");
	OK(cuDeviceSetMemPool(0, pool));
	OK(cuMemAllocAsync(&p, 1000, stream));
	OK(cuPointerGetAttribute(&seen, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, p));
	EXPECT(seen == pool, "%p", (void *)seen);
	OK(cuMemPoolDestroy(pool));
	OK(cuDeviceGetMemPool(&seen, 0));
	EXPECT(seen == standard, "%p", (void *)seen);
	OK(cuMemcpyHtoDAsync(p, bytes, 1000, stream));
	OK(cuMemFreeAsync(p, stream));
	OK(cuStreamSynchronize(stream));
}

CASE(dead_pool_handles_are_refused)
{
	CUmemoryPool pool = make_pool();
	CUdeviceptr p;

	if (!cu_emulated())
		SKIP("NVIDIA's driver may crash");
	OK(cuMemPoolDestroy(pool));
	IS(cuMemPoolDestroy(pool), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemPoolDestroy(standard), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemPoolDestroy(NULL), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemPoolTrimTo(pool, 0), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemAllocFromPoolAsync(&p, 1, pool, stream), CUDA_ERROR_INVALID_VALUE);
	IS(cuDeviceSetMemPool(0, pool), CUDA_ERROR_INVALID_VALUE);
}

CASE(access_of_own_gpu_is_fixed)
{
	CUmemAccessDesc desc = { { CU_MEM_LOCATION_TYPE_DEVICE, 0 }, CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
	CUmemAccess_flags flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
	CUmemoryPool pool = make_pool();

	OK(cuMemPoolSetAccess(pool, &desc, 1));
	OK(cuMemPoolGetAccess(&flags, pool, &desc.location));
	EXPECT(flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE, "%d", flags);
	desc.flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
	IS(cuMemPoolSetAccess(pool, &desc, 1), CUDA_ERROR_INVALID_DEVICE);
	desc.flags = CU_MEM_ACCESS_FLAGS_PROT_READ;
	IS(cuMemPoolSetAccess(pool, &desc, 1), CUDA_ERROR_NOT_SUPPORTED);
	OK(cuMemPoolDestroy(pool));
}

CASE(memory_lives_until_the_stream_frees)
{
	CUdeviceptr p, q;

	OK(cuMemAllocAsync(&p, SIZE, stream));
	OK(cuMemAllocAsync(&q, SIZE, stream));
	for (int i = 0; i < 20; i++)
		OK(cuMemcpyHtoDAsync(i % 2 ? p : q, bytes, SIZE, stream));
	OK(cuMemcpyDtoDAsync(q, p, SIZE, stream));
	OK(cuMemFreeAsync(p, stream));
	OK(cuMemcpyDtoHAsync(back, q, SIZE, stream));
	OK(cuMemFreeAsync(q, stream));
	OK(cuStreamSynchronize(stream));
	EXPECT(!memcmp(bytes, back, SIZE), "bytes differ");
	EXPECT(get(standard, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) == 0, "still used");
}

VMTEST_MAIN
