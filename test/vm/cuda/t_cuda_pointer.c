// SPDX-License-Identifier: MIT
/* Pointer attributes and cuGetProcAddress() of CUDA. Passes on a real GPU, too. */
#include "cu.h"

#include <dlfcn.h>

#define HOST(p) ((CUdeviceptr)(uintptr_t)(p))

enum { BIG = (3 << 20) + 5, UNSET = 0x5a5a5a5a };

static CUcontext ctx;
static CUdeviceptr a, b, big;
static int host;

SETUP(there_is_memory)
{
	ctx = cu_start(0);
	EXPECT(ctx, "no GPU");
	OK(cuMemAlloc(&a, 1));
	OK(cuMemAlloc(&b, 1));
	OK(cuMemAlloc(&big, BIG));
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

CASE(attributes_of_gpu_memory)
{
	CUdeviceptr p = big + 4097;
	void *cpu;

	EXPECT(get_int(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p) == CU_MEMORYTYPE_DEVICE, "MEMORY_TYPE");
	EXPECT(get_int(CU_POINTER_ATTRIBUTE_IS_MANAGED, p) == 0, "IS_MANAGED");
	EXPECT(get_int(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, p) == 0, "DEVICE_ORDINAL");
	EXPECT(get_int(CU_POINTER_ATTRIBUTE_MAPPED, p) == 1, "MAPPED");
	EXPECT(get_int(CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE, p) == 1, "IS_GPU_DIRECT_RDMA_CAPABLE");
	EXPECT(get_word(CU_POINTER_ATTRIBUTE_CONTEXT, p) == HOST(ctx), "CONTEXT");
	EXPECT(get_word(CU_POINTER_ATTRIBUTE_DEVICE_POINTER, p) == p, "DEVICE_POINTER");
	EXPECT(get_word(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, p) == big, "RANGE_START_ADDR");
	EXPECT(get_word(CU_POINTER_ATTRIBUTE_RANGE_SIZE, p) == BIG, "RANGE_SIZE");
	EXPECT(get_word(CU_POINTER_ATTRIBUTE_RANGE_SIZE, a) == 1, "RANGE_SIZE of one byte");
	IS(cuPointerGetAttribute(&cpu, CU_POINTER_ATTRIBUTE_HOST_POINTER, p), CUDA_ERROR_INVALID_VALUE);
	IS(cuPointerGetAttribute(NULL, CU_POINTER_ATTRIBUTE_BUFFER_ID, p), CUDA_ERROR_INVALID_VALUE);
	IS(cuPointerGetAttribute(&cpu, (CUpointer_attribute)0, p), CUDA_ERROR_INVALID_VALUE);
	IS(cuPointerGetAttribute(&cpu, (CUpointer_attribute)99, p), CUDA_ERROR_INVALID_VALUE);
}

static void knows_nothing_of(CUdeviceptr p)
{
	static const CUpointer_attribute all[] = {
		CU_POINTER_ATTRIBUTE_CONTEXT, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
		CU_POINTER_ATTRIBUTE_HOST_POINTER, CU_POINTER_ATTRIBUTE_P2P_TOKENS, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS,
		CU_POINTER_ATTRIBUTE_BUFFER_ID, CU_POINTER_ATTRIBUTE_IS_MANAGED, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
		CU_POINTER_ATTRIBUTE_RANGE_SIZE, CU_POINTER_ATTRIBUTE_MAPPED,
	};
	uint64_t value[2];

	for (unsigned int i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		IS(cuPointerGetAttribute(value, all[i], p), CUDA_ERROR_INVALID_VALUE);
}

CASE(cpu_pointer_is_not_success)
{
	knows_nothing_of(HOST(&host));
	knows_nothing_of(0);
	knows_nothing_of(~0ull);
}

CASE(address_behind_allocation_is_unknown)
{
	knows_nothing_of(a + 1);
	knows_nothing_of(big + BIG);
}

CASE(freed_pointer_is_invalid_value)
{
	CUdeviceptr freed;

	OK(cuMemAlloc(&freed, BIG));
	OK(cuMemFree(freed));
	knows_nothing_of(freed);
	knows_nothing_of(freed + BIG - 1);
}

CASE(attributes_of_mapping_and_block)
{
	const uint64_t block = 2 << 20;

	EXPECT(get_word(CU_POINTER_ATTRIBUTE_MAPPING_SIZE, a) == block, "MAPPING_SIZE of a");
	EXPECT(get_word(CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR, b) == a / block * block, "MAPPING_BASE_ADDR of b");
	EXPECT(get_word(CU_POINTER_ATTRIBUTE_MAPPING_SIZE, big + 1) == 2 * block, "MAPPING_SIZE of big");
	EXPECT(get_word(CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR, big + 1) == big, "MAPPING_BASE_ADDR of big");
	EXPECT(get_word(CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID, a) == get_word(CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID, b),
	       "two blocks");
	EXPECT(get_word(CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID, a) != get_word(CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID, big),
	       "the allocations share one block");
	EXPECT(get_int(CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, a) == CU_MEM_ACCESS_FLAGS_PROT_READWRITE, "ACCESS_FLAGS");
	EXPECT(get_word(CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, a) == CU_MEM_HANDLE_TYPE_NONE,
	       "ALLOWED_HANDLE_TYPES");
	EXPECT(get_word(CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, a) == 0, "MEMPOOL_HANDLE");
}

/* ---- several attributes in one call ------------------------------------------ */

struct answers {
	int type, managed, ordinal, sync;
	uint64_t id, start, size, cpu;
};

static CUresult ask(CUdeviceptr p, struct answers *out)
{
	CUpointer_attribute which[] = {
		CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
		CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, CU_POINTER_ATTRIBUTE_BUFFER_ID, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
		CU_POINTER_ATTRIBUTE_RANGE_SIZE, CU_POINTER_ATTRIBUTE_HOST_POINTER,
	};
	void *data[] = { &out->type, &out->managed, &out->ordinal, &out->sync, &out->id, &out->start, &out->size,
			 &out->cpu };

	*out = (struct answers){ UNSET, UNSET, UNSET, UNSET, UNSET, UNSET, UNSET, UNSET };
	return cuPointerGetAttributes(sizeof(which) / sizeof(which[0]), which, data, p);
}

CASE(list_of_attributes)
{
	struct answers got;

	OK(ask(big + 1, &got));
	EXPECT(got.type == CU_MEMORYTYPE_DEVICE && !got.managed && !got.ordinal && !got.sync, "%d %d %d %d", got.type,
	       got.managed, got.ordinal, got.sync);
	EXPECT(got.id == cu_buffer_id(big) && got.start == big && got.size == BIG && !got.cpu, "%#lx %#lx %#lx %#lx",
	       (long)got.id, (long)got.start, (long)got.size, (long)got.cpu);
}

CASE(attribute_list_of_unknown_address)
{
	struct answers got;

	OK(ask(HOST(&host), &got));
	EXPECT(got.type == 0 && got.managed == 0 && got.ordinal == CU_DEVICE_INVALID && got.sync == 0, "%d %d %d %d",
	       got.type, got.managed, got.ordinal, got.sync);
	EXPECT(got.id == 0 && got.start == UNSET && got.size == UNSET && got.cpu == HOST(&host), "%#lx %#lx %#lx %#lx",
	       (long)got.id, (long)got.start, (long)got.size, (long)got.cpu);
}

CASE(bad_attribute_lists_are_refused)
{
	CUpointer_attribute which[] = { CU_POINTER_ATTRIBUTE_BUFFER_ID, CU_POINTER_ATTRIBUTE_P2P_TOKENS };
	uint64_t value[2];
	void *data[] = { value, value };

	IS(cuPointerGetAttributes(0, which, data, a), CUDA_ERROR_INVALID_VALUE);
	IS(cuPointerGetAttributes(1, NULL, data, a), CUDA_ERROR_INVALID_VALUE);
	IS(cuPointerGetAttributes(1, which, NULL, a), CUDA_ERROR_INVALID_VALUE);
	IS(cuPointerGetAttributes(2, which, data, a), CUDA_ERROR_INVALID_VALUE);
	which[1] = (CUpointer_attribute)99;
	IS(cuPointerGetAttributes(2, which, data, HOST(&host)), CUDA_ERROR_INVALID_VALUE);
	data[0] = NULL;
	IS(cuPointerGetAttributes(1, which, data, a), CUDA_ERROR_INVALID_VALUE);
}

/* ---- buffer ids, SYNC_MEMOPS, tokens -------------------------------------------- */

static void id_changes_with(size_t size)
{
	unsigned long long id, last = 0;
	CUdeviceptr first, p;

	OK(cuMemAlloc(&first, size));
	OK(cuMemFree(first));
	for (int i = 0; i < 20; i++) {
		OK(cuMemAlloc(&p, size));
		id = cu_buffer_id(p);
		OK(cuMemFree(p));
		EXPECT(p == first, "%#llx, not %#llx", p, first);
		EXPECT(id && id > last, "%llu after %llu", id, last);
		last = id;
	}
}

CASE(reallocated_va_has_another_buffer_id)
{
	id_changes_with(1);
	id_changes_with(4096);
	id_changes_with(BIG);
	id_changes_with(8 << 20);
}

CASE(sync_memops_covers_the_allocation)
{
	const CUpointer_attribute sync = CU_POINTER_ATTRIBUTE_SYNC_MEMOPS;
	int on = 2, off = 0;

	EXPECT(get_int(sync, a) == 0, "set from the start");
	OK(cuPointerSetAttribute(&on, sync, a));
	EXPECT(get_int(sync, a) == 1 && get_int(sync, b) == 0, "%d, neighbour %d", get_int(sync, a), get_int(sync, b));
	OK(cuPointerSetAttribute(&on, sync, big + 100));
	EXPECT(get_int(sync, big + BIG - 1) == 1, "not everywhere");
	OK(cuPointerSetAttribute(&off, sync, big));
	EXPECT(get_int(sync, big) == 0, "still set");
	IS(cuPointerSetAttribute(&on, sync, HOST(&host)), CUDA_ERROR_INVALID_VALUE);
	IS(cuPointerSetAttribute(&on, sync, a + 1), CUDA_ERROR_INVALID_VALUE);
	IS(cuPointerSetAttribute(NULL, sync, a), CUDA_ERROR_INVALID_VALUE);
	IS(cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_BUFFER_ID, a), CUDA_ERROR_INVALID_VALUE);
}

static CUDA_POINTER_ATTRIBUTE_P2P_TOKENS tokens_of(CUdeviceptr p)
{
	CUDA_POINTER_ATTRIBUTE_P2P_TOKENS tokens = { 0 };

	if (cuPointerGetAttribute(&tokens, CU_POINTER_ATTRIBUTE_P2P_TOKENS, p))
		tokens.vaSpaceToken = UNSET;
	return tokens;
}

static bool same(CUDA_POINTER_ATTRIBUTE_P2P_TOKENS x, CUDA_POINTER_ATTRIBUTE_P2P_TOKENS y)
{
	return x.p2pToken == y.p2pToken && x.vaSpaceToken == y.vaSpaceToken;
}

CASE(tokens_are_constant_in_a_context)
{
	CUDA_POINTER_ATTRIBUTE_P2P_TOKENS first = tokens_of(a);
	CUdeviceptr p;

	EXPECT(first.vaSpaceToken && first.vaSpaceToken != UNSET, "%#x", first.vaSpaceToken);
	EXPECT(!cu_emulated() || first.p2pToken, "no token");
	EXPECT(same(first, tokens_of(a)) && same(first, tokens_of(b)), "differ");
	EXPECT(same(first, tokens_of(big + BIG - 1)), "the tokens differ in another block");
	OK(cuMemAlloc(&p, 8 << 20));
	EXPECT(same(first, tokens_of(p)), "differ for new memory");
	OK(cuMemFree(p));
}

CASE(tokens_change_with_the_context)
{
	CUDA_POINTER_ATTRIBUTE_P2P_TOKENS first, second;
	CUdeviceptr here, there;
	CUcontext other;

	if (!cu_emulated())
		SKIP("tokens are constant on this GPU");
	OK(cuMemAlloc(&here, 8 << 20));
	first = tokens_of(here);
	OK(cuMemFree(here));
	OK(cuCtxCreate(&other, NULL, 0, 0));
	OK(cuMemAlloc(&there, 8 << 20));
	second = tokens_of(there);
	OK(cuCtxDestroy(other));
	OK(cuCtxSetCurrent(ctx));
	EXPECT(there == here, "%#llx, not %#llx", there, here);
	EXPECT(first.p2pToken != second.p2pToken, "both %#llx", first.p2pToken);
}

CASE(reading_tokens_sets_sync_memops)
{
	CUdeviceptr p;

	OK(cuMemAlloc(&p, BIG));
	EXPECT(get_int(CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, p) == 0, "set from the start");
	EXPECT(tokens_of(p).vaSpaceToken != UNSET, "no tokens");
	EXPECT(get_int(CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, p) == 1, "not set");
	OK(cuMemFree(p));
}

/* ---- functions by name ------------------------------------------------------------ */

static int proc(const char *name, int version, void **fn)
{
	CUdriverProcAddressQueryResult result;

	return cuGetProcAddress(name, fn, version, 0, &result) ? UNSET : (int)result;
}

CASE(functions_by_name)
{
	const cuuint64_t no_such_flag = 4;
	CUresult (*alloc)(CUdeviceptr *, size_t);
	CUdeviceptr p;
	void *fn;

	EXPECT(proc("cuMemAlloc", 3020, (void **)&alloc) == CU_GET_PROC_ADDRESS_SUCCESS, "cuMemAlloc is not found");
	OK(alloc(&p, 1));
	OK(cuMemFree(p));
	EXPECT(proc("cuPointerSetAttribute", 5000, &fn) == CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT && !fn,
	       "cuPointerSetAttribute for version 5000");
	EXPECT(proc("cuNoSuchThing", 13000, &fn) == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND && !fn,
	       "cuNoSuchThing is found");
	EXPECT(proc("cuMemAlloc_v2", 13000, &fn) == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND && !fn,
	       "cuMemAlloc_v2 is found");
	IS(cuGetProcAddress("cuInit", &fn, 99999, 0, NULL), CUDA_ERROR_INVALID_VALUE);
	IS(cuGetProcAddress("cuInit", &fn, 13000, no_such_flag, NULL), CUDA_ERROR_INVALID_VALUE);
	EXPECT(proc("cuCtxDestroy", 2000, &fn) == CU_GET_PROC_ADDRESS_SUCCESS && fn, "cuCtxDestroy is not found");
}

CASE(per_thread_stream_functions_by_name)
{
	const cuuint64_t per_thread = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
	CUdriverProcAddressQueryResult result;
	void *fn, *same;

	OK(cuGetProcAddress("cuMemcpyHtoD", &fn, 13000, per_thread, NULL));
	EXPECT(fn == dlsym(RTLD_DEFAULT, "cuMemcpyHtoD_v2_ptds"), "%p", fn);
	OK(cuGetProcAddress("cuMemcpyHtoD", &fn, 6050, per_thread, &result));
	EXPECT(!fn && result == CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT, "%d", result);
	OK(cuGetProcAddress("cuMemAlloc", &fn, 6050, per_thread, NULL));
	OK(cuGetProcAddress("cuMemAlloc", &same, 6050, 0, NULL));
	EXPECT(fn == same, "two functions");
}

typedef CUresult get_proc_v1(const char *, void **, int, cuuint64_t);

CASE(first_version_of_getprocaddress)
{
	get_proc_v1 *get = (get_proc_v1 *)dlsym(RTLD_DEFAULT, "cuGetProcAddress");
	void *fn = NULL;

	EXPECT(get, "no cuGetProcAddress");
	OK(get("cuInit", &fn, 13000, 0));
	EXPECT(fn == dlsym(RTLD_DEFAULT, "cuInit"), "%p", fn);
	IS(get("cuNoSuchThing", &fn, 13000, 0), CUDA_ERROR_NOT_FOUND);
	IS(get("cuPointerSetAttribute", &fn, 5000, 0), CUDA_ERROR_NOT_FOUND);
}

static int not_supported(const char *name)
{
	CUresult (*fn)(void *, void *, void *, void *, void *);
	void *found = dlsym(RTLD_DEFAULT, name);

	*(void **)&fn = found;
	return found && fn(&found, NULL, NULL, NULL, NULL) == CUDA_ERROR_NOT_SUPPORTED;
}

CASE(unsupported_functions_return_not_supported)
{
	static const char *const names[] = {
		"cuIpcGetMemHandle", "cuIpcOpenMemHandle_v2", "cuMemExportToShareableHandle", "cuModuleLoadData",
		"cuModuleGetGlobal_v2", "cuLibraryGetGlobal", "cuLaunchKernel", "cuGraphLaunch",
		"cuMemPoolImportPointer",
	};
	void *fn;

	if (!cu_emulated())
		SKIP("NVIDIA's driver has these functions");
	for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		EXPECT(not_supported(names[i]), "%s", names[i]);
	OK(cuGetProcAddress("cuLaunchKernel", &fn, 13000, 0, NULL));
	EXPECT(fn == dlsym(RTLD_DEFAULT, "cuLaunchKernel"), "%p", fn);
}

CASE(missing_functions_are_not_exported)
{
	void *fn;

	if (!cu_emulated())
		SKIP("NVIDIA's driver has these functions");
	EXPECT(!dlsym(RTLD_DEFAULT, "cuTexRefCreate"), "found");
	EXPECT(!dlsym(RTLD_DEFAULT, "cuMemAlloc"), "cuMemAlloc with 32-bit addresses found");
	EXPECT(!dlsym(RTLD_DEFAULT, "heap_alloc"), "an internal function found");
	IS(cuGetProcAddress("cuTexRefCreate", &fn, 13000, 0, NULL), CUDA_ERROR_NOT_FOUND);
}

CASE(errors_have_names)
{
	const char *text;

	OK(cuGetErrorName(CUDA_ERROR_CONTEXT_IS_DESTROYED, &text));
	EXPECT(!strcmp(text, "CUDA_ERROR_CONTEXT_IS_DESTROYED"), "%s", text);
	OK(cuGetErrorString(CUDA_ERROR_OUT_OF_MEMORY, &text));
	EXPECT(strstr(text, "memory"), "%s", text);
	IS(cuGetErrorName((CUresult)99999, &text), CUDA_ERROR_INVALID_VALUE);
	EXPECT(!text, "%s", text);
}

VMTEST_MAIN
