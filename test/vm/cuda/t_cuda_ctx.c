// SPDX-License-Identifier: MIT
/* Contexts of the CUDA driver API. Cases without SKIP pass on a real GPU, too. */
#include "cu.h"
#include "test/vm/harness/emu.h"

#include <pthread.h>
#include <stdatomic.h>

enum { SIZE = 1 << 20 };

/* Older headers map cuCtxCreate() to these functions. */
CUresult cuCtxCreate_v2(CUcontext *ctx, unsigned int flags, CUdevice dev);
CUresult cuCtxCreate_v3(CUcontext *ctx, CUexecAffinityParam *params, int n, unsigned int flags, CUdevice dev);

static CUcontext primary;

static CUcontext current(void)
{
	CUcontext c = NULL;

	return cuCtxGetCurrent(&c) ? NULL : c;
}

/* Run @fn(@arg) in a new thread and return its result. */
static void *in_thread(void *(*fn)(void *), void *arg)
{
	pthread_t thread;
	void *result = NULL;

	if (pthread_create(&thread, NULL, fn, arg))
		return NULL;
	pthread_join(thread, &result);
	return result;
}

CASE(contexts_need_init)
{
	CUcontext c;

	IS(cuCtxCreate(&c, NULL, 0, 0), CUDA_ERROR_NOT_INITIALIZED);
	IS(cuCtxCreate_v2(&c, 0, 0), CUDA_ERROR_NOT_INITIALIZED);
	primary = cu_start(0);
	EXPECT(primary, "no GPU");
}

CASE(new_context_is_current_until_destroyed)
{
	CUcontext c, d;

	OK(cuCtxCreate(&c, NULL, 0, 0));
	EXPECT(current() == c && c != primary, "%p, primary %p", (void *)current(), (void *)primary);
	OK(cuCtxCreate(&d, NULL, 0, 0));
	EXPECT(current() == d && d != c, "%p", (void *)current());
	OK(cuCtxDestroy(d));
	EXPECT(current() == c, "%p", (void *)current());
	OK(cuCtxDestroy(c));
	EXPECT(current() == primary, "%p", (void *)current());
}

CASE(every_version_of_create_works)
{
	CUctxCreateParams none = { 0 };
	CUexecAffinityParam unused = { 0 };
	CUcontext c;

	OK(cuCtxCreate_v2(&c, CU_CTX_SCHED_BLOCKING_SYNC, 0));
	OK(cuCtxDestroy(c));
	OK(cuCtxCreate_v3(&c, NULL, 0, 0, 0));
	OK(cuCtxDestroy(c));
	OK(cuCtxCreate_v3(&c, &unused, 0, 0, 0));
	OK(cuCtxDestroy(c));
	OK(cuCtxCreate(&c, NULL, CU_CTX_SCHED_SPIN, 0));
	OK(cuCtxDestroy(c));
	OK(cuCtxCreate(&c, &none, 0, 0));
	OK(cuCtxDestroy(c));
	EXPECT(current() == primary, "%p", (void *)current());
}

CASE(bad_contexts_are_refused)
{
	CUexecAffinityParam part = { .param.smCount.val = 8 };
	CUctxCreateParams of_a_part = { .execAffinityParams = &part, .numExecAffinityParams = 1 };
	CUcontext c;

	IS(cuCtxCreate(NULL, NULL, 0, 0), CUDA_ERROR_INVALID_VALUE);
	IS(cuCtxCreate(&c, NULL, 0x10000, 0), CUDA_ERROR_INVALID_VALUE);
	IS(cuCtxCreate(NULL, NULL, 0, 99), CUDA_ERROR_INVALID_DEVICE);
	IS(cuCtxCreate(&c, NULL, 0, 99), CUDA_ERROR_INVALID_DEVICE);
	IS(cuCtxCreate(&c, NULL, 0, -1), CUDA_ERROR_INVALID_DEVICE);
	IS(cuCtxCreate(&c, NULL, 0x10000, 99), CUDA_ERROR_INVALID_DEVICE);
	IS(cuCtxCreate_v3(&c, NULL, 1, 0, 0), CUDA_ERROR_INVALID_VALUE);
	IS(cuCtxCreate_v3(&c, &part, 1, 0, 0), CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY);
	IS(cuCtxCreate(&c, &of_a_part, 0, 0), CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY);
	IS(cuCtxDestroy(NULL), CUDA_ERROR_INVALID_VALUE);
	EXPECT(current() == primary, "%p", (void *)current());
}

CASE(a_primary_context_is_not_destroyed)
{
	size_t n;

	IS(cuCtxDestroy(primary), CUDA_ERROR_INVALID_CONTEXT);
	EXPECT(current() == primary, "%p", (void *)current());
	OK(cuMemGetInfo(&n, &n));
}

CASE(destroy_pops_only_the_top)
{
	CUcontext c;
	CUdeviceptr p;

	OK(cuCtxCreate(&c, NULL, 0, 0));
	OK(cuCtxPushCurrent(primary));
	OK(cuCtxDestroy(c));
	EXPECT(current() == primary, "%p", (void *)current());
	OK(cuCtxPopCurrent(NULL));
	IS(cuMemAlloc(&p, 1), CUDA_ERROR_CONTEXT_IS_DESTROYED);
	OK(cuCtxPopCurrent(NULL));
	EXPECT(current() == primary, "%p", (void *)current());
}

/* A thread whose current context another thread destroys */
struct victim {
	CUcontext ctx;
	pthread_barrier_t barrier;
	CUresult alloc, sync, free, event;
};

static void *have_it_destroyed(void *arg)
{
	struct victim *v = arg;
	CUdeviceptr p;
	CUevent event;

	cuCtxSetCurrent(v->ctx);
	pthread_barrier_wait(&v->barrier);
	pthread_barrier_wait(&v->barrier);
	v->alloc = cuMemAlloc(&p, 1);
	v->sync = cuCtxSynchronize();
	v->free = cuMemFree(0);
	v->event = cuEventCreate(&event, 0);
	return NULL;
}

CASE(destroyed_context_fails_in_other_threads)
{
	struct victim v = { 0 };
	pthread_t thread;

	OK(pthread_barrier_init(&v.barrier, NULL, 2));
	OK(cuCtxCreate(&v.ctx, NULL, 0, 0));
	OK(pthread_create(&thread, NULL, have_it_destroyed, &v));
	pthread_barrier_wait(&v.barrier);
	OK(cuCtxDestroy(v.ctx));
	pthread_barrier_wait(&v.barrier);
	pthread_join(thread, NULL);
	IS(v.alloc, CUDA_ERROR_CONTEXT_IS_DESTROYED);
	IS(v.sync, CUDA_ERROR_CONTEXT_IS_DESTROYED);
	IS(v.free, CUDA_ERROR_CONTEXT_IS_DESTROYED);
	IS(v.event, CUDA_ERROR_CONTEXT_IS_DESTROYED);
}

CASE(dead_context_handle_is_refused)
{
	CUcontext c;
	CUdevice dev;
	unsigned int version;
	unsigned long long id;

	if (!cu_emulated())
		SKIP("NVIDIA's driver may crash");
	OK(cuCtxCreate(&c, NULL, 0, 0));
	OK(cuCtxDestroy(c));
	IS(cuCtxDestroy(c), CUDA_ERROR_CONTEXT_IS_DESTROYED);
	IS(cuCtxGetApiVersion(c, &version), CUDA_ERROR_INVALID_CONTEXT);
	IS(cuCtxGetId(c, &id), CUDA_ERROR_CONTEXT_IS_DESTROYED);
	IS(cuCtxSynchronize_v2(c), CUDA_ERROR_CONTEXT_IS_DESTROYED);
	OK(cuCtxPushCurrent(c));
	OK(cuCtxGetDevice(&dev));
	OK(cuCtxPopCurrent(NULL));
	IS(cuCtxDestroy((CUcontext)&c), CUDA_ERROR_INVALID_CONTEXT);
	IS(cuCtxPushCurrent((CUcontext)&c), CUDA_ERROR_INVALID_CONTEXT);
	IS(cuCtxGetApiVersion((CUcontext)&c, &version), CUDA_ERROR_INVALID_CONTEXT);
}

CASE(destroy_frees_the_contexts_memory)
{
	CUdeviceptr mine, other, small;
	size_t before, after, total;
	CUcontext c;

	OK(cuMemAlloc(&other, SIZE));
	OK(cuMemGetInfo(&before, &total));
	OK(cuCtxCreate(&c, NULL, 0, 0));
	OK(cuMemAlloc(&mine, 4 * SIZE));
	OK(cuMemAlloc(&small, 1));
	EXPECT(cu_buffer_id(mine) && cu_buffer_id(small), "no buffer");
	OK(cuMemsetD8(mine, 7, 4 * SIZE));
	OK(cuCtxDestroy(c));
	EXPECT(!cu_buffer_id(mine) && !cu_buffer_id(small), "destroyed memory still has a buffer id");
	EXPECT(cu_buffer_id(other), "memory of another context was freed");
	OK(cuMemGetInfo(&after, &total));
	if (cu_emulated())
		EXPECT(before == after, "%zu free, then %zu", before, after);
	OK(cuMemFree(other));
}

CASE(memory_belongs_to_its_allocating_context)
{
	CUcontext c, seen = NULL;
	CUdeviceptr p;

	OK(cuCtxCreate(&c, NULL, 0, 0));
	OK(cuMemAlloc(&p, 1));
	OK(cuCtxPushCurrent(primary));
	OK(cuPointerGetAttribute(&seen, CU_POINTER_ATTRIBUTE_CONTEXT, p));
	EXPECT(seen == c, "%p", (void *)seen);
	OK(cuMemFree(p));
	OK(cuCtxPopCurrent(NULL));
	OK(cuCtxDestroy(c));
}

CASE(each_context_has_an_id)
{
	unsigned long long a = 0, b = 0, d = 0;
	CUcontext c;

	OK(cuCtxGetId(primary, &a));
	OK(cuCtxCreate(&c, NULL, 0, 0));
	OK(cuCtxGetId(NULL, &b));
	OK(cuCtxGetId(c, &d));
	EXPECT(b == d && a != b, "%llu %llu %llu", a, b, d);
	IS(cuCtxGetId(c, NULL), CUDA_ERROR_INVALID_VALUE);
	OK(cuCtxDestroy(c));
	OK(cuCtxCreate(&c, NULL, 0, 0));
	OK(cuCtxGetId(c, &d));
	EXPECT(d != b && d != a, "%llu again", d);
	OK(cuCtxDestroy(c));
}

CASE(flags_are_kept)
{
	unsigned int flags = 0, version = 0;
	CUcontext c;

	OK(cuCtxCreate(&c, NULL, CU_CTX_SCHED_BLOCKING_SYNC, 0));
	OK(cuCtxGetFlags(&flags));
	EXPECT((flags & CU_CTX_SCHED_MASK) == CU_CTX_SCHED_BLOCKING_SYNC, "%#x", flags);
	IS(cuCtxGetFlags(NULL), CUDA_ERROR_INVALID_VALUE);
	OK(cuCtxSetFlags(CU_CTX_SYNC_MEMOPS));
	OK(cuCtxGetFlags(&flags));
	EXPECT(flags & CU_CTX_SYNC_MEMOPS, "%#x", flags);
	OK(cuCtxGetApiVersion(c, &version));
	EXPECT(version >= 3020, "%u", version);
	OK(cuCtxDestroy(c));
	OK(cuCtxCreate(&c, NULL, CU_CTX_MAP_HOST, 0));
	OK(cuCtxSetFlags(0));
	OK(cuCtxGetFlags(&flags));
	EXPECT(flags == CU_CTX_MAP_HOST, "%#x", flags);
	OK(cuCtxDestroy(c));
}

CASE(flags_of_the_primary_context)
{
	unsigned int flags = 0;
	int active = 0;

	OK(cuDevicePrimaryCtxSetFlags(0, CU_CTX_SCHED_YIELD));
	OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
	EXPECT(flags == CU_CTX_SCHED_YIELD && active, "%#x %d", flags, active);
	OK(cuCtxGetFlags(&flags));
	EXPECT(flags == (CU_CTX_SCHED_YIELD | CU_CTX_MAP_HOST), "%#x", flags);
	IS(cuDevicePrimaryCtxSetFlags(0, 0x10000), CUDA_ERROR_INVALID_VALUE);
	IS(cuDevicePrimaryCtxSetFlags(99, 0), CUDA_ERROR_INVALID_DEVICE);
	OK(cuDevicePrimaryCtxSetFlags(0, 0));
}

CASE(priorities_of_streams_have_a_range)
{
	int least = 99, greatest = 99;

	OK(cuCtxGetStreamPriorityRange(&least, &greatest));
	EXPECT(least == 0 && greatest <= least, "%d to %d", least, greatest);
	OK(cuCtxGetStreamPriorityRange(NULL, NULL));
}

static void *without_context(void *unused)
{
	unsigned long long id;
	unsigned int flags;
	int n;

	(void)unused;
	return (void *)(uintptr_t)(cuCtxGetFlags(&flags) == CUDA_ERROR_INVALID_CONTEXT &&
				   cuCtxGetId(NULL, &id) == CUDA_ERROR_INVALID_CONTEXT &&
				   cuCtxGetStreamPriorityRange(&n, &n) == CUDA_ERROR_INVALID_CONTEXT &&
				   !cuCtxGetId(primary, &id));
}

CASE(a_thread_begins_without_context)
{
	EXPECT(in_thread(without_context, NULL), "a call without context returned another error");
}

CASE(gpu_is_no_peer_of_itself)
{
	CUcontext c;
	int can = -1;

	OK(cuDeviceCanAccessPeer(&can, 0, 0));
	EXPECT(can == 0, "%d", can);
	IS(cuDeviceCanAccessPeer(NULL, 0, 0), CUDA_ERROR_INVALID_VALUE);
	IS(cuDeviceCanAccessPeer(&can, 0, 99), CUDA_ERROR_INVALID_DEVICE);
	IS(cuCtxEnablePeerAccess(primary, 0), CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
	IS(cuCtxEnablePeerAccess(primary, 1), CUDA_ERROR_INVALID_VALUE);
	IS(cuCtxEnablePeerAccess(NULL, 0), CUDA_ERROR_INVALID_CONTEXT);
	IS(cuCtxDisablePeerAccess(primary), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
	OK(cuCtxCreate(&c, NULL, 0, 0));
	IS(cuCtxEnablePeerAccess(primary, 0), CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
	OK(cuCtxDestroy(c));
}

CASE(two_gpus_reach_each_other)
{
	CUcontext there;
	int n = 0, can = 0;

	OK(cuDeviceGetCount(&n));
	if (n < 2)
		SKIP("one GPU only");
	OK(cuDeviceCanAccessPeer(&can, 0, 1));
	EXPECT(can == 1, "%d", can);
	OK(cuDevicePrimaryCtxRetain(&there, 1));
	IS(cuCtxEnablePeerAccess(there, 1), CUDA_ERROR_INVALID_VALUE);
	OK(cuCtxEnablePeerAccess(there, 0));
	IS(cuCtxEnablePeerAccess(there, 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
	OK(cuCtxDisablePeerAccess(there));
	IS(cuCtxDisablePeerAccess(there), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
	OK(cuCtxEnablePeerAccess(there, 0));
	OK(cuDevicePrimaryCtxRelease(1));
	OK(cuDevicePrimaryCtxRetain(&there, 1));
	OK(cuCtxEnablePeerAccess(there, 0));
	OK(cuDevicePrimaryCtxRelease(1));
}

/* Results of two H100s with driver 580.159.04. Pointer queries need no peer access. */
CASE(range_query_needs_peer_access)
{
	CUdeviceptr far, pooled, base = 0;
	CUcontext there;
	size_t size;
	int n = 0;

	OK(cuDeviceGetCount(&n));
	if (n < 2)
		SKIP("one GPU only");
	OK(cuDevicePrimaryCtxRetain(&there, 1));
	OK(cuCtxPushCurrent(there));
	OK(cuMemAlloc(&far, SIZE));
	OK(cuMemAllocAsync(&pooled, SIZE, NULL));
	OK(cuCtxSynchronize());
	OK(cuMemGetAddressRange(&base, &size, pooled));
	OK(cuCtxPopCurrent(NULL));
	IS(cuMemGetAddressRange(&base, &size, far), CUDA_ERROR_NOT_FOUND);
	OK(cuCtxEnablePeerAccess(there, 0));
	OK(cuMemGetAddressRange(&base, &size, far));
	EXPECT(base == far, "%#llx, not %#llx", base, far);
	IS(cuMemGetAddressRange(&base, &size, pooled), CUDA_ERROR_NOT_FOUND);
	OK(cuCtxDisablePeerAccess(there));
	IS(cuMemGetAddressRange(&base, &size, far), CUDA_ERROR_NOT_FOUND);
	OK(cuMemFree(far));
	OK(cuMemFreeAsync(pooled, NULL));
	OK(cuDevicePrimaryCtxRelease(1));
}

/* NULL means the current context. */
CASE(peer_copies_name_both_contexts)
{
	static unsigned char out[SIZE];
	CUdeviceptr here, far;
	CUcontext c;

	OK(cuMemAlloc(&here, SIZE));
	OK(cuMemsetD8(here, 0x5a, SIZE));
	OK(cuCtxCreate(&c, NULL, 0, 0));
	OK(cuMemAlloc(&far, SIZE));
	OK(cuMemcpyPeer(far, c, here, primary, SIZE));
	OK(cuMemcpyDtoH(out, far, SIZE));
	EXPECT(out[0] == 0x5a && out[SIZE - 1] == 0x5a, "%#x %#x", out[0], out[SIZE - 1]);
	OK(cuMemsetD8(far, 0x11, SIZE));
	OK(cuMemcpyPeerAsync(here, primary, far, c, SIZE, NULL));
	OK(cuCtxSynchronize());
	OK(cuMemcpyDtoH(out, here, SIZE));
	EXPECT(out[0] == 0x11 && out[SIZE - 1] == 0x11, "%#x %#x", out[0], out[SIZE - 1]);
	OK(cuMemsetD8(here, 0x22, SIZE));
	OK(cuMemcpyPeer(far, NULL, here, primary, SIZE));
	OK(cuMemcpyDtoH(out, far, SIZE));
	EXPECT(out[0] == 0x22 && out[SIZE - 1] == 0x22, "%#x %#x", out[0], out[SIZE - 1]);
	OK(cuCtxDestroy(c));
	OK(cuMemFree(here));
}

enum { THREADS = 4 };

/* Fewer rounds on a real GPU, where creating a context takes 0.3 s. */
static int rounds(void)
{
	return cu_emulated() ? 25 : 2;
}

/* Returns the number of failed calls. */
static void *make_and_destroy(void *unused)
{
	uintptr_t failed = 0;
	CUdeviceptr p;
	CUcontext c;

	(void)unused;
	for (int i = rounds(); i; i--) {
		if (cuCtxCreate(&c, NULL, 0, 0))
			return (void *)(failed + 1);
		failed += cuMemAlloc(&p, SIZE) || cuMemsetD8Async(p, i, SIZE, NULL) || cuMemsetD8(p, i, SIZE);
		failed += !!cuCtxDestroy(c);
	}
	return (void *)failed;
}

CASE(threads_make_and_destroy_contexts)
{
	uintptr_t failed = 0;
	pthread_t thread[THREADS];
	void *result;

	for (int i = 0; i < THREADS; i++)
		OK(pthread_create(&thread[i], NULL, make_and_destroy, NULL));
	for (int i = 0; i < THREADS; i++) {
		pthread_join(thread[i], &result);
		failed += (uintptr_t)result;
	}
	EXPECT(!failed, "%lu calls failed", failed);
}

static void *retain_and_release(void *unused)
{
	uintptr_t failed = 0;
	CUdeviceptr p;
	CUcontext c;

	(void)unused;
	for (int i = rounds(); i; i--) {
		failed += cuDevicePrimaryCtxRetain(&c, 0) || cuCtxSetCurrent(c);
		failed += cuMemAlloc(&p, SIZE) || cuMemsetD8(p, 1, SIZE) || cuMemFree(p);
		failed += !!cuDevicePrimaryCtxRelease(0);
	}
	return (void *)failed;
}

/* Any retain may recreate the context, and any release may be the last. */
CASE(primary_context_survives_racing_releases)
{
	uintptr_t failed = 0;
	pthread_t thread[THREADS];
	void *result;

	OK(cuDevicePrimaryCtxRelease(0));
	for (int i = 0; i < THREADS; i++)
		OK(pthread_create(&thread[i], NULL, retain_and_release, NULL));
	for (int i = 0; i < THREADS; i++) {
		pthread_join(thread[i], &result);
		failed += (uintptr_t)result;
	}
	EXPECT(!failed, "%lu calls failed", failed);
}

CASE(nothing_is_left)
{
	struct emugpu_test test;
	int node;

	if (!cu_emulated())
		SKIP("only the emulated driver has counters");
	node = emu_open();
	EXPECT(node >= 0 && !emu_counts(node, &test), "counts");
	EXPECT(test.counts.out_blocks == 0, "%u blocks", test.counts.out_blocks);
	close(node);
}

VMTEST_MAIN
