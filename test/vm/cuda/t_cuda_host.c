// SPDX-License-Identifier: MIT
/* Host memory that CUDA knows: page-locked, registered and managed. Passes on a real GPU, too. */
#include "cu.h"

#include <sys/mman.h>

#define HOST(p) ((CUdeviceptr)(uintptr_t)(p))

enum { SIZE = 100000, UNSET = 0x5a5a5a5a };

static CUcontext ctx;
static CUdeviceptr gpu;
static unsigned char bytes[SIZE], back[SIZE];

SETUP(there_is_a_gpu)
{
	ctx = cu_start(0);
	EXPECT(ctx, "no GPU");
	OK(cuMemAlloc(&gpu, SIZE));
	for (int i = 0; i < SIZE; i++)
		bytes[i] = i * 2654435761u >> 13;
}

static int get_int(CUpointer_attribute which, const void *p)
{
	int value = UNSET;

	return cuPointerGetAttribute(&value, which, HOST(p)) ? -1 : value;
}

static uint64_t get_word(CUpointer_attribute which, const void *p)
{
	uint64_t value = UNSET;

	return cuPointerGetAttribute(&value, which, HOST(p)) ? UNSET : value;
}

/* Copy to the GPU and back, with host pointers and with device pointers. */
static void copies_go_through(void *p)
{
	memcpy(p, bytes, SIZE);
	OK(cuMemsetD8(gpu, 0, SIZE));
	OK(cuMemcpyHtoD(gpu, p, SIZE));
	memset(p, 0, SIZE);
	OK(cuMemcpyDtoH(p, gpu, SIZE));
	EXPECT(!memcmp(p, bytes, SIZE), "bytes differ");
	memset(p, 0, SIZE);
	OK(cuMemcpyDtoD(HOST(p), gpu, SIZE));
	OK(cuCtxSynchronize());
	EXPECT(!memcmp(p, bytes, SIZE), "bytes differ after a copy to the device pointer");
	OK(cuMemsetD8(HOST(p), 0x77, SIZE));
	OK(cuCtxSynchronize());
	EXPECT(((unsigned char *)p)[SIZE - 1] == 0x77, "memset");
}

/* ---- cuMemHostAlloc() ----------------------------------------------------------- */

static void has_attributes_of_host_memory(void *p)
{
	char *at = (char *)p + 17;
	CUdeviceptr seen;

	EXPECT(get_int(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at) == CU_MEMORYTYPE_HOST, "type");
	EXPECT(get_int(CU_POINTER_ATTRIBUTE_IS_MANAGED, at) == 0, "managed");
	EXPECT(get_int(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, at) == 0, "device");
	EXPECT(get_word(CU_POINTER_ATTRIBUTE_CONTEXT, at) == HOST(ctx), "context");
	EXPECT(get_word(CU_POINTER_ATTRIBUTE_HOST_POINTER, at) == HOST(at), "host pointer");
	EXPECT(get_word(CU_POINTER_ATTRIBUTE_DEVICE_POINTER, at) == HOST(at), "device pointer");
	EXPECT(get_word(CU_POINTER_ATTRIBUTE_BUFFER_ID, at) != UNSET, "no buffer id");
	OK(cuMemHostGetDevicePointer(&seen, at, 0));
	EXPECT(seen == HOST(at), "%#llx", seen);
}

CASE(host_memory_has_cuda_attributes)
{
	void *p;

	OK(cuMemHostAlloc(&p, SIZE, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP));
	has_attributes_of_host_memory(p);
	CHECK_CASE();
	copies_go_through(p);
	CHECK_CASE();
	OK(cuMemFreeHost(p));
	EXPECT(get_int(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p) == -1, "the freed host memory still has a type");
	IS(cuMemFreeHost(p), CUDA_ERROR_INVALID_VALUE);
}

CASE(write_combined_host_memory_works)
{
	unsigned int flags = 0;
	void *p;

	OK(cuMemHostAlloc(&p, SIZE, CU_MEMHOSTALLOC_WRITECOMBINED));
	OK(cuMemHostGetFlags(&flags, p));
	EXPECT(flags & CU_MEMHOSTALLOC_WRITECOMBINED, "%#x", flags);
	EXPECT(get_int(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p) == CU_MEMORYTYPE_HOST, "type");
	memcpy(p, bytes, SIZE);
	OK(cuMemcpyHtoD(gpu, p, SIZE));
	OK(cuMemcpyDtoH(back, gpu, SIZE));
	EXPECT(!memcmp(back, bytes, SIZE), "bytes differ");
	OK(cuMemFreeHost(p));
}

CASE(cumemallochost_gives_host_memory)
{
	unsigned int flags = 0;
	void *p;

	OK(cuMemAllocHost(&p, 1));
	OK(cuMemHostGetFlags(&flags, p));
	EXPECT(!(flags & CU_MEMHOSTALLOC_WRITECOMBINED), "%#x", flags);
	EXPECT(get_word(CU_POINTER_ATTRIBUTE_RANGE_SIZE, p) >= 1, "size");
	OK(cuMemFreeHost(p));
}

CASE(zero_bytes_of_host_memory)
{
	void *p = bytes;

	OK(cuMemHostAlloc(&p, 0, 0));
	EXPECT(!p, "%p", p);
	OK(cuMemFreeHost(p));
}

CASE(bad_host_calls_are_refused)
{
	CUdeviceptr seen;
	unsigned int flags;
	void *p;

	IS(cuMemHostAlloc(&p, 1, 8), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemHostAlloc(NULL, 1, 0), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemAllocHost(NULL, 1), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemFreeHost(bytes), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemFreeHost((void *)(uintptr_t)gpu), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemHostGetDevicePointer(&seen, bytes, 0), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemHostGetFlags(&flags, bytes), CUDA_ERROR_INVALID_VALUE);
	OK(cuMemAllocHost(&p, SIZE));
	IS(cuMemHostGetDevicePointer(&seen, p, 1), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemFreeHost((char *)p + 1), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemHostUnregister(p), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemFree(HOST(p)), CUDA_ERROR_INVALID_VALUE);
	OK(cuMemFreeHost(p));
}

/* ---- cuMemHostRegister() -------------------------------------------------------- */

CASE(registered_memory_has_cuda_attributes)
{
	char *p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	EXPECT(p != MAP_FAILED, "no memory");
	OK(cuMemHostRegister(p, SIZE, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP));
	has_attributes_of_host_memory(p);
	CHECK_CASE();
	copies_go_through(p);
	CHECK_CASE();
	IS(cuMemHostRegister(p, SIZE, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
	IS(cuMemFreeHost(p), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemHostUnregister(p + 1), CUDA_ERROR_INVALID_VALUE);
	OK(cuMemHostUnregister(p));
	EXPECT(get_int(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p) == -1, "the unregistered memory still has a type");
	IS(cuMemHostUnregister(p), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
	munmap(p, SIZE);
}

CASE(read_only_memory_is_registered)
{
	char *p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned int flags = 0;

	EXPECT(p != MAP_FAILED, "no memory");
	if (!cu_attribute(CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED))
		SKIP("this GPU cannot register read-only memory");
	memcpy(p, bytes, SIZE);
	mprotect(p, SIZE, PROT_READ);
	IS(cuMemHostRegister(p, SIZE, 0), CUDA_ERROR_INVALID_VALUE);
	OK(cuMemHostRegister(p, SIZE, CU_MEMHOSTREGISTER_READ_ONLY));
	OK(cuMemHostGetFlags(&flags, p));
	EXPECT(flags == CU_MEMHOSTREGISTER_DEVICEMAP, "%#x", flags);
	OK(cuMemcpyHtoD(gpu, p, SIZE));
	OK(cuMemcpyDtoH(back, gpu, SIZE));
	EXPECT(!memcmp(back, bytes, SIZE), "bytes differ");
	if (cu_emulated())
		IS(cuMemcpyDtoH(p, gpu, SIZE), CUDA_ERROR_INVALID_VALUE);
	OK(cuMemHostUnregister(p));
	munmap(p, SIZE);
}

CASE(bad_registrations_are_refused)
{
	char *p = mmap(NULL, SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	IS(cuMemHostRegister(NULL, 1, 0), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemHostRegister(bytes, 0, 0), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemHostRegister(bytes, SIZE, 0x100), CUDA_ERROR_INVALID_VALUE);
	/* NVIDIA's driver supports I/O memory, and rejects other memory here. */
	IS(cuMemHostRegister(bytes, SIZE, CU_MEMHOSTREGISTER_IOMEMORY),
	   cu_emulated() ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_VALUE);
	IS(cuMemHostRegister((void *)(uintptr_t)gpu, SIZE, 0), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemHostRegister(p, SIZE, 0), CUDA_ERROR_INVALID_VALUE);
	munmap(p, SIZE);
	IS(cuMemHostRegister(p, SIZE, 0), CUDA_ERROR_INVALID_VALUE);
}

/* ---- cuMemAllocManaged() --------------------------------------------------------- */

CASE(managed_memory_has_cuda_attributes)
{
	CUDA_POINTER_ATTRIBUTE_P2P_TOKENS tokens;
	CUdeviceptr m;
	void *p;

	OK(cuMemAllocManaged(&m, SIZE, CU_MEM_ATTACH_GLOBAL));
	p = (void *)(uintptr_t)m;
	EXPECT(get_int(CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, p) == 1, "SYNC_MEMOPS is not set from the start");
	EXPECT(get_int(CU_POINTER_ATTRIBUTE_IS_MANAGED, p) == 1, "IS_MANAGED is not set");
	EXPECT(get_int(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p) == CU_MEMORYTYPE_DEVICE, "type");
	EXPECT(get_int(CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE, p) == 0, "host memory is RDMA capable");
	EXPECT(get_word(CU_POINTER_ATTRIBUTE_HOST_POINTER, p) == m, "host pointer");
	OK(cuPointerGetAttribute(&tokens, CU_POINTER_ATTRIBUTE_P2P_TOKENS, m));
	EXPECT(!tokens.p2pToken && tokens.vaSpaceToken, "%#llx %#x", tokens.p2pToken, tokens.vaSpaceToken);
	copies_go_through(p);
	CHECK_CASE();
	OK(cuMemFree(m));
	EXPECT(get_int(CU_POINTER_ATTRIBUTE_IS_MANAGED, p) == -1, "the freed memory is still managed");
}

CASE(managed_memory_has_no_preferred_location)
{
	CUmem_range_attribute which[] = { CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION,
					  CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY };
	int place = UNSET, mostly = UNSET, by[2] = { UNSET, UNSET };
	void *data[] = { &place, &mostly };
	size_t sizes[] = { sizeof(place), sizeof(mostly) };
	CUdeviceptr m;

	OK(cuMemAllocManaged(&m, SIZE, CU_MEM_ATTACH_GLOBAL));
	OK(cuMemRangeGetAttributes(data, sizes, which, 2, m, SIZE));
	EXPECT(place == CU_DEVICE_INVALID && mostly == 0, "%d %d", place, mostly);
	OK(cuMemRangeGetAttribute(by, sizeof(by), CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, m, SIZE));
	EXPECT(by[0] == CU_DEVICE_INVALID && by[1] == CU_DEVICE_INVALID, "%d %d", by[0], by[1]);
	IS(cuMemRangeGetAttribute(&place, 3, which[0], m, SIZE), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemRangeGetAttribute(&place, sizeof(place), which[0], gpu, SIZE), CUDA_ERROR_INVALID_VALUE);
	OK(cuMemFree(m));
}

CASE(bad_managed_allocations_are_refused)
{
	CUdeviceptr m;

	IS(cuMemAllocManaged(&m, SIZE, 0), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemAllocManaged(&m, SIZE, CU_MEM_ATTACH_SINGLE), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemAllocManaged(&m, 0, CU_MEM_ATTACH_GLOBAL), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemAllocManaged(NULL, SIZE, CU_MEM_ATTACH_GLOBAL), CUDA_ERROR_INVALID_VALUE);
}

/* ---- the end of the context -------------------------------------------------------- */

CASE(context_end_releases_host_memory)
{
	CUdeviceptr m;
	void *p;

	OK(cuMemAllocHost(&p, SIZE));
	OK(cuMemAllocManaged(&m, SIZE, CU_MEM_ATTACH_GLOBAL));
	OK(cuMemHostRegister(bytes, SIZE, 0));
	OK(cuDevicePrimaryCtxReset(0));
	OK(cuDevicePrimaryCtxRetain(&ctx, 0));
	OK(cuCtxSetCurrent(ctx));
	EXPECT(get_int(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p) == -1, "host memory is still known after the reset");
	EXPECT(get_int(CU_POINTER_ATTRIBUTE_IS_MANAGED, (void *)(uintptr_t)m) == -1,
	       "managed memory is still known after the reset");
	EXPECT(get_int(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, bytes) == -1,
	       "registered memory is still known after the reset");
	OK(cuMemHostRegister(bytes, SIZE, 0));
	OK(cuMemHostUnregister(bytes));
}

VMTEST_MAIN
