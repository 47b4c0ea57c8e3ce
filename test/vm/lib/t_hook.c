// SPDX-License-Identifier: MIT
/*
 * libpeerpin-hook on a driver: each kind of free is told with its range while
 * the memory is still there, and while what pins it is still valid. Passes on
 * a real GPU too, but for what says otherwise, there without pins if need be.
 */
#include <dlfcn.h>
#include <libpeerpin.h>
#include <libpeerpin-hook.h>
#include "test/vm/cuda/cu.h"

#define MIB ((size_t)1 << 20)

enum { SIZE = 3 << 20 };

static const CUmemLocation here = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 };

static struct pp_ctx *pins;	/* NULL: a real GPU without peerpin.ko */

/* What is freed, and what of it is looked at when that is told */
static struct {
	CUdeviceptr addr;
	const struct pp_region *region;
} watched;

static struct {
	unsigned int times;
	uint64_t addr;
	uint64_t length;
	unsigned long long id;
	int valid;
} told;

static void note(void *arg, uint64_t addr, uint64_t length)
{
	(void)arg;
	told.times++;
	told.addr = addr;
	told.length = length;
	told.id = cu_buffer_id(watched.addr);
	told.valid = watched.region && pp_region_valid(pins, watched.region);
}

static void watch(CUdeviceptr addr, const struct pp_region *region)
{
	watched.addr = addr;
	watched.region = region;
	memset(&told, 0, sizeof(told));
}

/* Pins what begins at @addr, and watches both */
static void watch_pinned(CUdeviceptr addr, size_t length, struct pp_region *region)
{
	watch(addr, NULL);
	if (!pins)
		return;
	EXPECT(!pp_pin(pins, (void *)addr, length, region, NULL), "not pinned");
	watch(addr, region);
}

/* The memory is gone by now. */
static void unwatch(void)
{
	const struct pp_region *region = watched.region;
	int valid = told.valid;

	watch(0, NULL);
	if (!region)
		return;
	EXPECT(valid, "the pin was gone before");
	EXPECT(!pp_region_valid(pins, region), "the pin stayed");
	EXPECT(!pp_unpin(pins, region), "not unpinned");
}

static void expect_told(uint64_t addr, uint64_t length)
{
	EXPECT(told.times == 1, "told %u times", told.times);
	EXPECT(told.addr == addr && told.length == length, "of %lx + %lx, not of %lx + %lx", told.addr, told.length,
	       addr, length);
}

static void expect_there(uint64_t addr, uint64_t length)
{
	expect_told(addr, length);
	CHECK_CASE();
	EXPECT(told.id, "the memory was gone");
}

SETUP(there_are_a_gpu_and_the_hook)
{
	EXPECT(cu_start(0), "no GPU");
	EXPECT(!pp_open(&pins) || !cu_emulated(), "insmod peerpin.ko");
	EXPECT(!pp_hook_add(note, NULL), "refused");
}

/* ---- memory of the GPU ------------------------------------------------------------------ */

/* @fn is cuMemFree(), found in one way or another */
static void free_pinned(CUresult (*fn)(CUdeviceptr))
{
	struct pp_region region;
	CUdeviceptr p;

	EXPECT(fn, "not found");
	OK(cuMemAlloc(&p, SIZE));
	watch_pinned(p, SIZE, &region);
	CHECK_CASE();
	OK(fn(p));
	expect_there(p, SIZE);
	CHECK_CASE();
	EXPECT(!cu_buffer_id(p), "it was not freed");
	unwatch();
}

CASE(free_by_link)
{
	free_pinned(cuMemFree);
}

CASE(free_by_dlsym)
{
	free_pinned((CUresult (*)(CUdeviceptr))dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuMemFree_v2"));
}

CASE(free_by_get_proc_address)
{
	void *fn = NULL;

	OK(cuGetProcAddress("cuMemFree", &fn, 12000, CU_GET_PROC_ADDRESS_DEFAULT, NULL));
	free_pinned((CUresult (*)(CUdeviceptr))fn);
}

/* As the CUDA runtime comes to it */
CASE(free_by_what_dlsym_found)
{
	void *fn = NULL;
	CUresult (*find)(const char *, void **, int, cuuint64_t);

	find = (CUresult (*)(const char *, void **, int, cuuint64_t))
		dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuGetProcAddress");
	EXPECT(find, "not found");
	OK(find("cuMemFree", &fn, 11030, 0));
	free_pinned((CUresult (*)(CUdeviceptr))fn);
}

CASE(managed_memory)
{
	CUdeviceptr p;

	OK(cuMemAllocManaged(&p, SIZE, CU_MEM_ATTACH_GLOBAL));
	watch(p, NULL);
	OK(cuMemFree(p));
	expect_there(p, SIZE);
}

CASE(what_the_driver_refuses_it_refuses)
{
	watch(0, NULL);
	IS(cuMemFree(MIB), CUDA_ERROR_INVALID_VALUE);
	expect_told(0, UINT64_MAX);
}

/* ---- memory in the order of streams ------------------------------------------------------ */

static void free_in_stream(const char *name, cuuint64_t flags)
{
	CUresult (*fn)(CUdeviceptr, CUstream) = NULL;
	CUdeviceptr p;

	OK(cuGetProcAddress(name, (void **)&fn, 12000, flags, NULL));
	OK(cuMemAllocAsync(&p, SIZE, NULL));
	watch(p, NULL);
	OK(fn(p, NULL));
	expect_there(p, SIZE);
	CHECK_CASE();
	OK(cuCtxSynchronize());
	EXPECT(!cu_buffer_id(p), "it was not freed");
}

CASE(free_in_a_stream)
{
	free_in_stream("cuMemFreeAsync", CU_GET_PROC_ADDRESS_LEGACY_STREAM);
}

CASE(free_in_the_stream_of_the_thread)
{
	free_in_stream("cuMemFreeAsync", CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
}

CASE(a_pool_may_give_back_any_of_its_memory)
{
	CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = here };
	CUmemoryPool pool;

	OK(cuMemPoolCreate(&pool, &props));
	watch(0, NULL);
	OK(cuMemPoolTrimTo(pool, 0));
	expect_told(0, UINT64_MAX);
	CHECK_CASE();
	watch(0, NULL);
	OK(cuMemPoolDestroy(pool));
	expect_told(0, UINT64_MAX);
}

/* ---- memory that the program maps ---------------------------------------------------------- */

static CUmemGenericAllocationHandle memory;

/* @length bytes for peers, mapped at the address that it gives */
static void map(CUdeviceptr *va, size_t length)
{
	const CUmemAccessDesc readwrite = { here, CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
	CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = here };

	prop.allocFlags.gpuDirectRDMACapable = 1;
	OK(cuMemAddressReserve(va, length, 0, 0, 0));
	OK(cuMemCreate(&memory, length, &prop, 0));
	OK(cuMemMap(*va, length, 0, memory, 0));
	OK(cuMemSetAccess(*va, length, &readwrite, 1));
}

CASE(what_is_unmapped)
{
	struct pp_region region;
	CUdeviceptr va = 0;

	map(&va, 4 * MIB);
	CHECK_CASE();
	watch_pinned(va, 2 * MIB, &region);
	CHECK_CASE();
	OK(cuMemUnmap(va, 4 * MIB));
	expect_there(va, 4 * MIB);
	CHECK_CASE();
	unwatch();
	CHECK_CASE();
	OK(cuMemRelease(memory));
	OK(cuMemAddressFree(va, 4 * MIB));
	EXPECT(!told.times, "told when nothing was mapped");
}

/* ---- memory of the host ---------------------------------------------------------------------- */

CASE(host_memory)
{
	void *p;

	OK(cuMemHostAlloc(&p, SIZE, 0));
	watch((CUdeviceptr)p, NULL);
	OK(cuMemFreeHost(p));
	expect_there((uintptr_t)p, SIZE);
}

CASE(registered_memory)
{
	void *p = aligned_alloc(MIB, SIZE);

	EXPECT(p, "no memory");
	OK(cuMemHostRegister(p, SIZE, 0));
	watch((CUdeviceptr)p, NULL);
	OK(cuMemHostUnregister(p));
	expect_there((uintptr_t)p, SIZE);
	CHECK_CASE();
	EXPECT(!cu_buffer_id((CUdeviceptr)p), "it was not unregistered");
	free(p);
}

/* ---- contexts: they end with all that is in them -------------------------------------------- */

static void end_pinned(CUresult (*end)(CUcontext), CUcontext ctx)
{
	struct pp_region region;
	CUdeviceptr p;

	OK(cuMemAlloc(&p, SIZE));
	watch_pinned(p, SIZE, &region);
	CHECK_CASE();
	OK(end(ctx));
	expect_there(0, UINT64_MAX);
	CHECK_CASE();
	unwatch();
}

CASE(a_context_that_is_destroyed)
{
	CUcontext ctx;

	OK(cuCtxCreate(&ctx, NULL, 0, 0));
	end_pinned(cuCtxDestroy, ctx);
}

static CUresult release_primary(CUcontext ctx)
{
	(void)ctx;
	return cuDevicePrimaryCtxRelease(0);
}

static CUresult reset_primary(CUcontext ctx)
{
	(void)ctx;
	return cuDevicePrimaryCtxReset(0);
}

CASE(the_primary_context_that_is_reset)
{
	EXPECT(cu_start(0), "no context");
	end_pinned(reset_primary, NULL);
}

CASE(the_primary_context_that_is_released)
{
	while (!cuDevicePrimaryCtxRelease(0))
		;
	EXPECT(cu_start(0), "no context");
	end_pinned(release_primary, NULL);
	CHECK_CASE();
	EXPECT(cu_start(0), "no context");
}

/* ---- what the emulated driver has not, but passes through the hook ----------------------------- */

/* By a function of libcuda that cuda.h may lack */
static CUresult call(const char *name, void *arg)
{
	CUresult (*fn)(void *) = (CUresult (*)(void *))dlsym(RTLD_DEFAULT, name);

	return fn ? fn(arg) : CUDA_ERROR_NOT_FOUND;
}

CASE(memory_of_other_processes_and_modules)
{
	CUdeviceptr p;

	if (!cu_emulated())
		SKIP("a real GPU has them");
	OK(cuMemAlloc(&p, SIZE));
	watch(p, NULL);
	IS(call("cuIpcCloseMemHandle", (void *)p), CUDA_ERROR_NOT_SUPPORTED);
	expect_there(p, SIZE);
	CHECK_CASE();
	watch(p, NULL);
	IS(call("cuModuleUnload", NULL), CUDA_ERROR_NOT_SUPPORTED);
	expect_there(0, UINT64_MAX);
	CHECK_CASE();
	OK(cuMemFree(p));
}

CASE(without_subscribers_nothing_is_told)
{
	CUdeviceptr p;

	EXPECT(!pp_hook_remove(note, NULL), "not removed");
	watch(0, NULL);
	OK(cuMemAlloc(&p, SIZE));
	OK(cuMemFree(p));
	EXPECT(!told.times, "told %u times", told.times);
}

VMTEST_MAIN
