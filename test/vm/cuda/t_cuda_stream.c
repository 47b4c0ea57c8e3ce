// SPDX-License-Identifier: MIT
/* Streams of the CUDA driver API: their attributes and their waits for each other. */
#include "stream.h"

/* ---- attributes -------------------------------------------------------------- */

CASE(streams_need_init_and_a_context)
{
	CUstream s;
	CUevent e;

	IS(cuStreamCreate(&s, 0), CUDA_ERROR_NOT_INITIALIZED);
	IS(cuEventCreate(&e, 0), CUDA_ERROR_NOT_INITIALIZED);
	OK(cuInit(0));
	IS(cuStreamCreate(&s, 0), CUDA_ERROR_INVALID_CONTEXT);
	IS(cuEventCreate(&e, 0), CUDA_ERROR_INVALID_CONTEXT);
	IS(cuStreamSynchronize(NULL), CUDA_ERROR_INVALID_CONTEXT);
	IS(cuMemsetD8Async(4096, 0, 1, NULL), CUDA_ERROR_INVALID_CONTEXT);
	stream_start();
}

CASE(bad_streams_are_refused)
{
	CUstream s;

	IS(cuStreamCreate(NULL, 0), CUDA_ERROR_INVALID_VALUE);
	IS(cuStreamCreate(&s, 2), CUDA_ERROR_INVALID_VALUE);
	IS(cuStreamCreateWithPriority(&s, 4, 0), CUDA_ERROR_INVALID_VALUE);
}

CASE(stream_has_flags_priority_context_id)
{
	unsigned long long id, id2;
	int least, greatest, n;
	unsigned int flags;
	CUstream s, t;
	CUcontext c;

	OK(cuCtxGetStreamPriorityRange(&least, &greatest));
	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuStreamCreateWithPriority(&t, 0, greatest - 100));
	OK(cuStreamGetFlags(s, &flags));
	EXPECT(flags == CU_STREAM_NON_BLOCKING, "%#x", flags);
	OK(cuStreamGetFlags(t, &flags));
	EXPECT(flags == 0, "%#x", flags);
	OK(cuStreamGetPriority(s, &n));
	EXPECT(n == 0, "%d", n);
	OK(cuStreamGetPriority(t, &n));
	EXPECT(n == greatest, "%d, not %d", n, greatest);
	OK(cuStreamGetCtx(s, &c));
	EXPECT(c == ctx, "%p", (void *)c);
	OK(cuStreamGetCtx(NULL, &c));
	EXPECT(c == ctx, "%p", (void *)c);
	OK(cuStreamGetId(s, &id));
	OK(cuStreamGetId(t, &id2));
	EXPECT(id != id2, "both %llu", id);
	OK(cuStreamDestroy(s));
	OK(cuStreamDestroy(t));
}

CASE(dead_stream_handles_are_refused)
{
	CUstream s;
	CUevent e;

	if (!cu_emulated())
		SKIP("undefined on a real GPU");
	OK(cuStreamCreate(&s, 0));
	OK(cuStreamDestroy(s));
	OK(cuEventCreate(&e, 0));
	OK(cuEventDestroy(e));
	IS(cuStreamDestroy(s), CUDA_ERROR_INVALID_HANDLE);
	IS(cuStreamQuery(s), CUDA_ERROR_INVALID_HANDLE);
	IS(cuStreamSynchronize((CUstream)&s), CUDA_ERROR_INVALID_HANDLE);
	IS(cuStreamDestroy(NULL), CUDA_ERROR_INVALID_HANDLE);
	IS(cuMemsetD8Async(dev, 0, SIZE, s), CUDA_ERROR_INVALID_HANDLE);
	IS(cuEventRecord(e, NULL), CUDA_ERROR_INVALID_HANDLE);
	IS(cuEventQuery(e), CUDA_ERROR_INVALID_HANDLE);
	IS(cuEventDestroy((CUevent)&e), CUDA_ERROR_INVALID_HANDLE);
}

/* ---- order of work ----------------------------------------------------------------- */

CASE(work_of_a_stream_is_ordered)
{
	CUstream s;

	OK(cuStreamCreate(&s, 0));
	for (int i = 0; i < 200; i++)
		OK(cuMemsetD8Async(dev, i, SIZE, s));
	OK(cuMemcpyDtoDAsync(other, dev, SIZE, s));
	OK(cuMemsetD8Async(dev, 255, SIZE, s));
	OK(cuStreamSynchronize(s));
	OK(cuStreamQuery(s));
	EXPECT(is_filled(other, 199), "%#x", back[0]);
	EXPECT(is_filled(dev, 255), "%#x", back[0]);
	OK(cuStreamDestroy(s));
}

CASE(async_calls_return_before_the_work)
{
	struct gate g = { 0 };
	CUstream s;

	OK(cuMemsetD8(dev, 1, SIZE));
	OK(cuMemsetD8(other, 2, SIZE));
	memset(locked, 3, SIZE);
	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuLaunchHostFunc(s, hold, &g));
	OK(cuMemcpyDtoDAsync(dev, other, SIZE, s));
	OK(cuMemcpyDtoHAsync(locked, dev, SIZE, s));
	wait_for(&g.reached);
	IS(cuStreamQuery(s), CUDA_ERROR_NOT_READY);
	EXPECT(locked[0] == 3, "the copy did not wait for the stream");
	EXPECT(is_filled(dev, 1), "the copy did not wait for the stream: %#x", back[0]);
	g.open = 1;
	OK(cuStreamSynchronize(s));
	EXPECT(locked[0] == 2 && locked[SIZE - 1] == 2, "%#x", locked[0]);
	OK(cuStreamDestroy(s));
}

CASE(streams_are_independent_of_each_other)
{
	struct gate g = { 0 };
	CUstream s, t;

	OK(cuStreamCreate(&s, 0));
	OK(cuStreamCreate(&t, 0));
	OK(cuLaunchHostFunc(s, hold, &g));
	OK(cuMemsetD8Async(dev, 9, SIZE, t));
	OK(cuStreamSynchronize(t));
	IS(cuStreamQuery(s), CUDA_ERROR_NOT_READY);
	g.open = 1;
	OK(cuStreamSynchronize(s));
	OK(cuStreamDestroy(s));
	OK(cuStreamDestroy(t));
}

CASE(null_stream_waits_for_blocking_streams)
{
	struct gate g = { 0 };
	CUstream s, free;

	OK(cuStreamCreate(&s, 0));
	OK(cuStreamCreate(&free, CU_STREAM_NON_BLOCKING));
	OK(cuMemsetD8(dev, 1, SIZE));
	OK(cuLaunchHostFunc(s, hold, &g));
	OK(cuMemsetD8Async(dev, 2, SIZE, NULL));
	OK(cuMemcpyDtoHAsync(locked, dev, SIZE, free));
	OK(cuStreamSynchronize(free));
	EXPECT(locked[0] == 1, "%#x", locked[0]);
	IS(cuStreamQuery(NULL), CUDA_ERROR_NOT_READY);
	g.open = 1;
	OK(cuStreamSynchronize(CU_STREAM_LEGACY));
	EXPECT(is_filled(dev, 2), "%#x", back[0]);
	OK(cuStreamDestroy(s));
	OK(cuStreamDestroy(free));
}

CASE(synchronize_null_waits_for_blocking_streams)
{
	struct gate g = { 0 };
	pthread_t thread;
	CUstream s;

	OK(cuStreamCreate(&s, 0));
	OK(cuLaunchHostFunc(s, hold, &g));
	thread = start_opening(&g);
	OK(cuStreamSynchronize(NULL));
	EXPECT(g.open, "cuStreamSynchronize() did not wait");
	pthread_join(thread, NULL);
	OK(cuStreamDestroy(s));
}

CASE(blocking_streams_wait_for_null_stream)
{
	struct gate g = { 0 };
	CUstream s, free;

	OK(cuStreamCreate(&s, 0));
	OK(cuStreamCreate(&free, CU_STREAM_NON_BLOCKING));
	OK(cuMemsetD8(dev, 1, SIZE));
	OK(cuLaunchHostFunc(NULL, hold, &g));
	OK(cuMemsetD8Async(dev, 2, SIZE, s));
	OK(cuMemcpyDtoHAsync(locked, dev, SIZE, free));
	OK(cuStreamSynchronize(free));
	EXPECT(locked[0] == 1, "%#x", locked[0]);
	IS(cuStreamQuery(s), CUDA_ERROR_NOT_READY);
	g.open = 1;
	OK(cuStreamSynchronize(s));
	OK(cuMemcpyDtoHAsync(locked, dev, SIZE, free));
	OK(cuStreamSynchronize(free));
	EXPECT(locked[0] == 2, "%#x", locked[0]);
	OK(cuStreamDestroy(s));
	OK(cuStreamDestroy(free));
}

CASE(host_copies_wait_for_queued_work)
{
	struct gate g = { 0 };
	pthread_t thread;
	CUstream s;

	memset(host, 7, SIZE);
	OK(cuStreamCreate(&s, 0));
	OK(cuLaunchHostFunc(s, hold, &g));
	OK(cuMemsetD8Async(dev, 6, SIZE, s));
	thread = start_opening(&g);
	OK(cuMemcpyHtoD(dev, host, SIZE));
	pthread_join(thread, NULL);
	EXPECT(is_filled(dev, 7), "%#x", back[0]);
	OK(cuStreamDestroy(s));
}

CASE(context_synchronize_waits_for_all_streams)
{
	struct gate g = { 0 };
	pthread_t thread;
	CUstream s;

	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuLaunchHostFunc(s, hold, &g));
	OK(cuMemsetD8Async(dev, 0x44, SIZE, s));
	thread = start_opening(&g);
	OK(cuCtxSynchronize());
	EXPECT(g.open, "cuCtxSynchronize() did not wait");
	OK(cuStreamQuery(s));
	EXPECT(is_filled(dev, 0x44), "%#x", back[0]);
	pthread_join(thread, NULL);
	OK(cuStreamDestroy(s));
}

CASE(free_waits_for_work)
{
	struct gate g = { 0 };
	pthread_t thread;
	CUdeviceptr p;
	CUstream s;

	OK(cuMemAlloc(&p, SIZE));
	OK(cuMemsetD8(p, 0x33, SIZE));
	OK(cuStreamCreate(&s, 0));
	OK(cuLaunchHostFunc(s, hold, &g));
	OK(cuMemcpyDtoDAsync(dev, p, SIZE, s));
	thread = start_opening(&g);
	OK(cuMemFree(p));
	EXPECT(g.open, "cuMemFree() did not wait");
	OK(cuStreamSynchronize(s));
	EXPECT(is_filled(dev, 0x33), "%#x", back[0]);
	pthread_join(thread, NULL);
	OK(cuStreamDestroy(s));
}

/* Create context *@c, make it current, and hold its stream *@s at gate @g. */
static void hold_elsewhere(CUcontext *c, CUstream *s, struct gate *g)
{
	OK(cuCtxCreate(c, NULL, 0, 0));
	OK(cuStreamCreate(s, CU_STREAM_NON_BLOCKING));
	OK(cuLaunchHostFunc(*s, hold, g));
}

CASE(free_ignores_work_of_other_contexts)
{
	struct gate g = { 0 };
	CUdeviceptr p;
	CUcontext c;
	CUstream s;

	OK(cuMemAlloc(&p, SIZE));
	hold_elsewhere(&c, &s, &g);
	CHECK_CASE();
	OK(cuMemFree(p));
	IS(cuStreamQuery(s), CUDA_ERROR_NOT_READY);
	g.open = 1;
	OK(cuStreamSynchronize(s));
	OK(cuCtxDestroy(c));
}

CASE(free_of_pool_memory_waits_not)
{
	struct gate g = { 0 };
	CUdeviceptr p;
	CUstream s;

	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuMemAllocAsync(&p, SIZE, s));
	OK(cuLaunchHostFunc(s, hold, &g));
	OK(cuMemFree(p));
	IS(cuStreamQuery(s), CUDA_ERROR_NOT_READY);
	g.open = 1;
	OK(cuStreamSynchronize(s));
	OK(cuStreamDestroy(s));
}

CASE(free_of_host_memory_waits)
{
	struct gate g = { 0 };
	pthread_t thread;
	CUstream s;
	void *p;

	OK(cuMemAllocHost(&p, SIZE));
	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuLaunchHostFunc(s, hold, &g));
	thread = start_opening(&g);
	OK(cuMemFreeHost(p));
	EXPECT(g.open, "cuMemFreeHost() did not wait");
	pthread_join(thread, NULL);
	OK(cuStreamDestroy(s));
}

/* The queued work must touch neither the freed memory nor new memory at the same address. */
CASE(work_on_freed_memory_fails)
{
	struct gate g = { 0 };
	CUdeviceptr p, q;
	CUcontext c;
	CUstream s;

	if (!cu_emulated())
		SKIP("undefined on a real GPU");
	for (int again = 0; again < 2; again++) {
		OK(cuMemAlloc(&p, 4 * SIZE));
		g.open = 0;
		hold_elsewhere(&c, &s, &g);
		CHECK_CASE();
		OK(cuMemsetD8Async(p, 0x77, SIZE, s));
		OK(cuCtxPopCurrent(NULL));
		OK(cuMemFree(p));
		if (again) {
			OK(cuMemAlloc(&q, 4 * SIZE));
			EXPECT(q == p, "%#llx, not %#llx", q, p);
			OK(cuMemsetD8(q, 0x11, SIZE));
		}
		g.open = 1;
		IS(cuStreamSynchronize(s), CUDA_ERROR_ILLEGAL_ADDRESS);
		OK(cuCtxDestroy(c));
	}
	EXPECT(is_filled(q, 0x11), "%#x", back[0]);
	OK(cuMemFree(q));
}

CASE(async_free_happens_in_stream_order)
{
	struct gate g = { 0 };
	CUdeviceptr p;
	CUstream s;

	OK(cuMemAlloc(&p, SIZE));
	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuLaunchHostFunc(s, hold, &g));
	OK(cuMemsetD8Async(p, 0x78, SIZE, s));
	OK(cuMemcpyDtoDAsync(dev, p, SIZE, s));
	OK(cuMemFreeAsync(p, s));
	IS(cuStreamQuery(s), CUDA_ERROR_NOT_READY);
	g.open = 1;
	OK(cuStreamSynchronize(s));
	EXPECT(is_filled(dev, 0x78), "%#x", back[0]);
	EXPECT(!cu_buffer_id(p), "the freed memory still has a buffer id");
	OK(cuStreamDestroy(s));
}

static void *use_without_context(void *stream)
{
	CUstream s = stream;

	return (void *)(uintptr_t)(!cuMemsetD8Async(dev, 0x35, SIZE, s) && !cuMemcpyDtoDAsync(other, dev, SIZE, s) &&
				   !cuStreamSynchronize(s) && cuStreamQuery(NULL) == CUDA_ERROR_INVALID_CONTEXT &&
				   cuMemsetD8(dev, 0, SIZE) == CUDA_ERROR_INVALID_CONTEXT);
}

CASE(a_stream_needs_no_current_context)
{
	pthread_t thread;
	void *done;
	CUstream s;

	OK(cuStreamCreate(&s, 0));
	OK(pthread_create(&thread, NULL, use_without_context, s));
	pthread_join(thread, &done);
	EXPECT(done, "a call returned another error");
	EXPECT(is_filled(other, 0x35), "%#x", back[0]);
	OK(cuStreamDestroy(s));
}

CASE(a_destroyed_stream_finishes_its_work)
{
	struct gate g = { 0 };
	CUstream s;

	OK(cuMemsetD8(dev, 0, SIZE));
	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuLaunchHostFunc(s, hold, &g));
	OK(cuMemsetD8Async(dev, 0x55, SIZE, s));
	OK(cuStreamDestroy(s));
	EXPECT(!g.open && is_filled(dev, 0), "%#x", back[0]);
	g.open = 1;
	OK(cuCtxSynchronize());
	EXPECT(is_filled(dev, 0x55), "%#x", back[0]);
}

/* ---- a default stream per thread -------------------------------------------------------------- */

static void *their_own_stream(void *gate)
{
	unsigned long long id = 0;

	cuCtxSetCurrent(ctx);
	if (cuMemsetD8Async(other, 0x21, SIZE, CU_STREAM_PER_THREAD) || cuStreamSynchronize(CU_STREAM_PER_THREAD) ||
	    ((struct gate *)gate)->open || cuStreamGetId(CU_STREAM_PER_THREAD, &id))
		return NULL;
	return (void *)(uintptr_t)id;
}

CASE(each_thread_has_its_own_stream)
{
	unsigned long long id = 0;
	struct gate g = { 0 };
	pthread_t thread;
	void *theirs;

	OK(cuLaunchHostFunc(CU_STREAM_PER_THREAD, hold, &g));
	OK(pthread_create(&thread, NULL, their_own_stream, &g));
	pthread_join(thread, &theirs);
	IS(cuStreamQuery(CU_STREAM_PER_THREAD), CUDA_ERROR_NOT_READY);
	g.open = 1;
	OK(cuStreamSynchronize(CU_STREAM_PER_THREAD));
	EXPECT(theirs, "the other thread waited for this thread's stream");
	OK(cuStreamGetId(CU_STREAM_PER_THREAD, &id));
	EXPECT(id != (uintptr_t)theirs, "both %llu", id);
	EXPECT(is_filled(other, 0x21), "%#x", back[0]);
}

/* With the per-thread default stream, NULL means the thread's own stream. */
CASE(null_stream_can_be_per_thread)
{
	CUresult (*memset_async)(CUdeviceptr, unsigned char, size_t, CUstream);
	CUresult (*query)(CUstream);
	struct gate g = { 0 };
	CUresult err;
	CUstream s;

	OK(cuGetProcAddress("cuMemsetD8Async", (void **)&memset_async, 13000,
			    CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, NULL));
	OK(cuGetProcAddress("cuStreamQuery", (void **)&query, 13000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM,
			    NULL));
	OK(cuStreamCreate(&s, 0));
	OK(cuLaunchHostFunc(s, hold, &g));
	OK(memset_async(dev, 0x31, SIZE, NULL));
	for (int i = 0; (err = query(NULL)) == CUDA_ERROR_NOT_READY && i < 5000; i++)
		sleep_ms(1);
	g.open = 1;
	IS(err, CUDA_SUCCESS);
	OK(cuCtxSynchronize());
	EXPECT(is_filled(dev, 0x31), "%#x", back[0]);
	OK(cuLaunchHostFunc(CU_STREAM_PER_THREAD, hold, memset(&g, 0, sizeof(g))));
	err = query(NULL);
	g.open = 1;
	IS(err, CUDA_ERROR_NOT_READY);
	OK(cuCtxSynchronize());
	OK(cuStreamDestroy(s));
}

VMTEST_MAIN
