// SPDX-License-Identifier: MIT
/*
 * libpeerpin-hook on a driver. The hook must report each kind of free with its range, while the
 * memory exists and its pin is valid. Cases without SKIP pass on a real GPU, too. Without
 * peerpin.ko the cases run without pins.
 */
#include <dlfcn.h>
#include <libpeerpin.h>
#include <libpeerpin-hook.h>
#include "test/vm/cuda/cu.h"

#define MIB ((size_t)1 << 20)

enum { SIZE = 3 << 20 };

static const CUmemLocation here = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 };

static struct pp_ctx *pins;	/* context for pins; NULL: a real GPU without peerpin.ko */

/* The freed address, and the region that note() checks. */
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

/* Pin [@addr, @addr + @length), and watch this address and the region. */
static void watch_pinned(CUdeviceptr addr, size_t length, struct pp_region *region)
{
	watch(addr, NULL);
	if (!pins)
		return;
	EXPECT(!pp_pin(pins, (void *)addr, length, region, NULL), "not pinned");
	watch(addr, region);
}

/* Stop watching after the free: the free must have revoked the region. */
static void unwatch(void)
{
	const struct pp_region *region = watched.region;
	int valid = told.valid;

	watch(0, NULL);
	if (!region)
		return;
	EXPECT(valid, "the pin was invalid at the report");
	EXPECT(!pp_region_valid(pins, region), "the pin is valid after the free");
	EXPECT(!pp_unpin(pins, region), "unpin");
}

static void expect_told(uint64_t addr, uint64_t length)
{
	EXPECT(told.times == 1, "%u reports", told.times);
	EXPECT(told.addr == addr && told.length == length,
	       "report of %lx + %lx, not of %lx + %lx", told.addr, told.length,
	       addr, length);
}

static void expect_there(uint64_t addr, uint64_t length)
{
	expect_told(addr, length);
	CHECK_CASE();
	EXPECT(told.id, "the memory was freed before the report");
}

SETUP(gpu_and_hook_are_there)
{
	EXPECT(cu_start(0), "no GPU");
	EXPECT(!pp_open(&pins) || !cu_emulated(), "insmod peerpin.ko");
	EXPECT(!pp_hook_add(note, NULL), "pp_hook_add failed");
}

/* ---- memory of the GPU ------------------------------------------------------------------ */

/* Pin memory and free it by @fn, which is cuMemFree() found in some way. */
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
	EXPECT(!cu_buffer_id(p), "the memory was not freed");
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

/* The CUDA runtime finds cuMemFree() by dlsym() of cuGetProcAddress(). */
CASE(free_by_dlsym_of_getprocaddress)
{
	void *fn = NULL;
	CUresult (*find)(const char *, void **, int, cuuint64_t);

	find = (CUresult (*)(const char *, void **, int, cuuint64_t))
		dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuGetProcAddress");
	EXPECT(find, "not found");
	OK(find("cuMemFree", &fn, 11030, 0));
	free_pinned((CUresult (*)(CUdeviceptr))fn);
}

CASE(free_of_managed_memory_is_seen)
{
	CUdeviceptr p;

	OK(cuMemAllocManaged(&p, SIZE, CU_MEM_ATTACH_GLOBAL));
	watch(p, NULL);
	OK(cuMemFree(p));
	expect_there(p, SIZE);
}

CASE(failed_free_keeps_its_error)
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
	EXPECT(!cu_buffer_id(p), "the memory was not freed");
}

CASE(free_in_a_stream)
{
	free_in_stream("cuMemFreeAsync", CU_GET_PROC_ADDRESS_LEGACY_STREAM);
}

CASE(free_in_the_per_thread_stream)
{
	free_in_stream("cuMemFreeAsync", CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
}

CASE(pool_trim_reports_all_memory)
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

/* Map @length bytes of memory for peers; *@va gets the address. */
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

CASE(unmap_is_reported)
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
	EXPECT(!told.times, "a report although nothing was mapped");
}

/* ---- memory of the host ---------------------------------------------------------------------- */

CASE(free_of_host_memory_is_seen)
{
	void *p;

	OK(cuMemHostAlloc(&p, SIZE, 0));
	watch((CUdeviceptr)p, NULL);
	OK(cuMemFreeHost(p));
	expect_there((uintptr_t)p, SIZE);
}

CASE(unregister_of_memory_is_seen)
{
	void *p = aligned_alloc(MIB, SIZE);

	EXPECT(p, "no memory");
	OK(cuMemHostRegister(p, SIZE, 0));
	watch((CUdeviceptr)p, NULL);
	OK(cuMemHostUnregister(p));
	expect_there((uintptr_t)p, SIZE);
	CHECK_CASE();
	EXPECT(!cu_buffer_id((CUdeviceptr)p), "the memory is still registered");
	free(p);
}

/* ---- contexts -------------------------------------------- */

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

CASE(destroy_of_context_is_reported)
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

CASE(reset_of_primary_is_reported)
{
	EXPECT(cu_start(0), "no context");
	end_pinned(reset_primary, NULL);
}

CASE(release_of_primary_is_reported)
{
	while (!cuDevicePrimaryCtxRelease(0))
		;
	EXPECT(cu_start(0), "no context");
	end_pinned(release_primary, NULL);
	CHECK_CASE();
	EXPECT(cu_start(0), "no context");
}

/* ---- functions that only the hook has, not the emulated driver ----------------------------- */

/* Call a function of libcuda that an old cuda.h may lack. */
static CUresult call(const char *name, void *arg)
{
	CUresult (*fn)(void *) = (CUresult (*)(void *))dlsym(RTLD_DEFAULT, name);

	return fn ? fn(arg) : CUDA_ERROR_NOT_FOUND;
}

CASE(ipc_and_module_frees_are_reported)
{
	CUdeviceptr p;

	if (!cu_emulated())
		SKIP("NVIDIA's driver has these functions");
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

CASE(no_subscriber_gets_no_report)
{
	CUdeviceptr p;

	EXPECT(!pp_hook_remove(note, NULL), "not removed");
	watch(0, NULL);
	OK(cuMemAlloc(&p, SIZE));
	OK(cuMemFree(p));
	EXPECT(!told.times, "%u reports without a subscriber", told.times);
}

VMTEST_MAIN
