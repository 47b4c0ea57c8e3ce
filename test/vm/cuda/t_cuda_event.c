// SPDX-License-Identifier: MIT
/* Events of the CUDA driver API, and host functions in streams. */
#include "stream.h"

SETUP(there_is_a_gpu)
{
	stream_start();
}

/* ---- events --------------------------------------------------------------------------- */

CASE(bad_events_are_refused)
{
	CUevent e;

	IS(cuEventCreate(NULL, 0), CUDA_ERROR_INVALID_VALUE);
	IS(cuEventCreate(&e, 8), CUDA_ERROR_INVALID_VALUE);
	IS(cuEventCreate(&e, CU_EVENT_INTERPROCESS), CUDA_ERROR_INVALID_VALUE);
}

CASE(unrecorded_event_is_complete)
{
	CUevent e;

	OK(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
	OK(cuEventQuery(e));
	OK(cuEventSynchronize(e));
	OK(cuStreamWaitEvent(NULL, e, 0));
	OK(cuEventDestroy(e));
}

CASE(event_completes_after_earlier_work)
{
	struct gate g = { 0 };
	CUstream s;
	CUevent e;

	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuEventCreate(&e, 0));
	OK(cuLaunchHostFunc(s, hold, &g));
	OK(cuMemsetD8Async(dev, 0x66, SIZE, s));
	OK(cuEventRecord(e, s));
	IS(cuEventQuery(e), CUDA_ERROR_NOT_READY);
	g.open = 1;
	OK(cuEventSynchronize(e));
	OK(cuEventQuery(e));
	OK(cuStreamQuery(s));
	EXPECT(is_filled(dev, 0x66), "%#x", back[0]);
	OK(cuEventDestroy(e));
	OK(cuStreamDestroy(s));
}

CASE(events_order_streams)
{
	struct gate g = { 0 };
	CUstream s, t;
	CUevent e;

	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuStreamCreate(&t, CU_STREAM_NON_BLOCKING));
	OK(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
	OK(cuMemsetD8(dev, 0, SIZE));
	OK(cuLaunchHostFunc(s, hold, &g));
	OK(cuMemsetD8Async(dev, 1, SIZE, s));
	OK(cuEventRecord(e, s));
	OK(cuStreamWaitEvent(t, e, 0));
	OK(cuMemsetD8Async(dev, 2, SIZE, t));
	/*
	 * A stream already waits for the event. A later record and the destruction of the event
	 * must not affect the stream.
	 */
	OK(cuEventRecord(e, NULL));
	OK(cuEventSynchronize(e));
	OK(cuEventDestroy(e));
	IS(cuStreamQuery(t), CUDA_ERROR_NOT_READY);
	g.open = 1;
	OK(cuStreamSynchronize(t));
	OK(cuStreamQuery(s));
	EXPECT(is_filled(dev, 2), "%#x", back[0]);
	OK(cuStreamDestroy(s));
	OK(cuStreamDestroy(t));
}

CASE(events_order_contexts)
{
	struct gate g = { 0 };
	CUstream s, t;
	CUcontext c;
	CUevent e;

	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
	OK(cuLaunchHostFunc(s, hold, &g));
	OK(cuEventRecord(e, s));
	OK(cuCtxCreate(&c, NULL, 0, 0));
	OK(cuStreamCreate(&t, 0));
	OK(cuStreamWaitEvent(t, e, 0));
	IS(cuEventRecord(e, t), CUDA_ERROR_INVALID_HANDLE);
	IS(cuStreamQuery(t), CUDA_ERROR_NOT_READY);
	g.open = 1;
	OK(cuStreamSynchronize(t));
	OK(cuStreamDestroy(t));
	OK(cuCtxDestroy(c));
	OK(cuEventDestroy(e));
	OK(cuStreamDestroy(s));
}

CASE(elapsed_time_between_events)
{
	struct gate g = { 0 };
	CUevent a, b, untimed;
	pthread_t thread;
	float ms = -1;
	CUstream s;

	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuEventCreate(&a, 0));
	OK(cuEventCreate(&b, CU_EVENT_BLOCKING_SYNC));
	OK(cuEventCreate(&untimed, CU_EVENT_DISABLE_TIMING));
	IS(cuEventElapsedTime(&ms, a, b), CUDA_ERROR_INVALID_HANDLE);
	OK(cuEventRecord(a, s));
	OK(cuLaunchHostFunc(s, hold, &g));
	OK(cuEventRecordWithFlags(b, s, CU_EVENT_RECORD_DEFAULT));
	IS(cuEventElapsedTime(&ms, a, b), CUDA_ERROR_NOT_READY);
	thread = start_opening(&g);
	OK(cuEventSynchronize(b));
	pthread_join(thread, NULL);
	OK(cuEventElapsedTime(&ms, a, b));
	EXPECT(ms >= 40 && ms < 10000, "%f", ms);
	OK(cuEventElapsedTime(&ms, b, a));
	EXPECT(ms <= -40, "%f", ms);
	OK(cuEventRecord(untimed, s));
	OK(cuEventSynchronize(untimed));
	IS(cuEventElapsedTime(&ms, a, untimed), CUDA_ERROR_INVALID_HANDLE);
	IS(cuEventElapsedTime(NULL, a, b), CUDA_ERROR_INVALID_HANDLE);
	OK(cuEventDestroy(a));
	OK(cuEventDestroy(b));
	OK(cuEventDestroy(untimed));
	OK(cuStreamDestroy(s));
}

/* ---- functions of the program ------------------------------------------------------------ */

struct called {
	atomic_int order;
	int first, second;
	CUstream stream;
	CUresult status;
	CUresult inside[5];
};

static void first(void *arg)
{
	struct called *c = arg;
	unsigned long long id;
	CUcontext current;

	c->first = ++c->order;
	c->inside[0] = cuStreamSynchronize(NULL);
	c->inside[1] = cuMemFree(dev);
	c->inside[2] = cuCtxSynchronize_v2(ctx);
	c->inside[3] = cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, dev);
	c->inside[4] = cuCtxGetCurrent(&current);
}

static void second(CUstream s, CUresult status, void *arg)
{
	struct called *c = arg;

	c->second = ++c->order;
	c->stream = s;
	c->status = status;
}

CASE(host_functions_run_in_order)
{
	struct called c = { .status = CUDA_ERROR_UNKNOWN };
	CUstream s;

	OK(cuStreamCreate(&s, 0));
	IS(cuLaunchHostFunc(s, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
	IS(cuStreamAddCallback(s, NULL, NULL, 0), CUDA_ERROR_INVALID_VALUE);
	IS(cuStreamAddCallback(s, second, NULL, 1), CUDA_ERROR_INVALID_VALUE);
	OK(cuLaunchHostFunc(s, first, &c));
	OK(cuStreamAddCallback(s, second, &c, 0));
	OK(cuStreamSynchronize(s));
	EXPECT(c.first == 1 && c.second == 2, "%d %d", c.first, c.second);
	EXPECT(c.stream == s && c.status == CUDA_SUCCESS, "%p %d", (void *)c.stream, c.status);
	OK(cuStreamDestroy(s));
}

CASE(host_functions_cannot_call_cuda)
{
	struct called c = { 0 };

	OK(cuLaunchHostFunc(NULL, first, &c));
	OK(cuStreamSynchronize(NULL));
	for (int i = 0; i < 5; i++)
		EXPECT(c.inside[i] == CUDA_ERROR_NOT_PERMITTED, "call %d: %d", i, c.inside[i]);
	EXPECT(cu_buffer_id(dev), "the memory was freed");
}

VMTEST_MAIN
