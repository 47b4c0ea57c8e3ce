// SPDX-License-Identifier: MIT
/* The engine threads of CUDA streams: start, end, failure, fork, and many users at once. */
#include "stream.h"

SETUP(there_is_a_gpu)
{
	stream_start();
}

/* ---- life of the engine ----------------------------------------------------------------------- */

CASE(destroy_finishes_the_contexts_work)
{
	struct gate g = { 0 };
	pthread_t thread;
	CUcontext c;
	CUstream s;

	OK(cuCtxCreate(&c, NULL, 0, 0));
	OK(cuStreamCreate(&s, 0));
	OK(cuLaunchHostFunc(s, hold, &g));
	OK(cuMemsetD8Async(dev, 0x71, SIZE, s));
	thread = start_opening(&g);
	wait_for(&g.reached);
	OK(cuCtxDestroy(c));
	EXPECT(g.open, "cuCtxDestroy() did not wait");
	pthread_join(thread, NULL);
	EXPECT(is_filled(dev, 0x71), "%#x", back[0]);
}

static void hear(CUstream s, CUresult status, void *heard)
{
	(void)s;
	*(CUresult *)heard = status;
}

CASE(async_failure_sticks_to_the_context)
{
	int node = cu_emulated() ? emu_open() : -1;
	struct gate g = { 0 };
	CUresult err, heard = CUDA_SUCCESS;
	CUcontext c;
	CUstream s;

	if (node < 0)
		SKIP("only the emulated driver can make work fail");
	OK(cuCtxCreate(&c, NULL, 0, 0));
	OK(cuStreamCreate(&s, 0));
	OK(cuLaunchHostFunc(s, hold, &g));
	OK(cuMemsetD8Async(dev, 1, SIZE, s));
	OK(cuStreamAddCallback(s, hear, &heard, 0));
	EXPECT(!emu_cpu_window(node, 0), "no window to close");
	g.open = 1;
	err = cuStreamSynchronize(s);
	EXPECT(!emu_cpu_window(node, 1), "window");
	IS(err, CUDA_ERROR_LAUNCH_FAILED);
	EXPECT(heard == CUDA_ERROR_LAUNCH_FAILED, "the callback got status %d", heard);
	IS(cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
	IS(cuMemcpyDtoH(back, dev, 1), CUDA_ERROR_LAUNCH_FAILED);
	IS(cuMemsetD8Async(dev, 1, SIZE, s), CUDA_ERROR_LAUNCH_FAILED);
	OK(cuCtxDestroy(c));
	OK(cuCtxSynchronize());
	OK(cuMemcpyDtoH(back, dev, 1));
	close(node);
}

static int child(void *s)
{
	return cuStreamSynchronize(s) == CUDA_ERROR_NOT_INITIALIZED &&
	       cuMemsetD8Async(dev, 1, SIZE, s) == CUDA_ERROR_NOT_INITIALIZED &&
	       cuStreamDestroy(s) == CUDA_ERROR_NOT_INITIALIZED && cuCtxDestroy(ctx) == CUDA_ERROR_NOT_INITIALIZED;
}

CASE(child_of_fork_has_no_streams)
{
	struct gate g = { 0 };
	CUstream s;
	int status;

	if (!cu_emulated())
		SKIP("NVIDIA's driver hangs in a child forked while its threads work");
	OK(cuStreamCreate(&s, 0));
	OK(cuLaunchHostFunc(s, hold, &g));
	status = cu_in_child(child, s);
	g.open = 1;
	EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 1, "status %#x", status);
	OK(cuStreamSynchronize(s));
	OK(cuStreamDestroy(s));
}

/* Run by end_with_work() in a new process: exit while a host function never returns. */
CASE_BY_NAME(end_with_work_pending)
{
	static struct gate never;
	CUstream s;

	EXPECT(cu_start(0), "no GPU");
	OK(cuMemAlloc(&dev, SIZE));
	OK(cuStreamCreate(&s, 0));
	for (int i = 0; i < 100; i++)
		OK(cuMemsetD8Async(dev, i, SIZE, s));
	OK(cuLaunchHostFunc(s, hold, &never));
	OK(cuMemsetD8Async(dev, 0, SIZE, s));
}

static int end_with_work(void *unused)
{
	(void)unused;
	alarm(20);
	execl("/proc/self/exe", "t_cuda_engine", "end_with_work_pending", NULL);
	return 127;
}

CASE(process_exits_with_work_pending)
{
	int status;

	if (!cu_emulated())
		SKIP("NVIDIA's driver may wait for the host function");
	status = cu_in_child(end_with_work, NULL);
	EXPECT(WIFEXITED(status) && !WEXITSTATUS(status), "status %#x", status);
}

/* ---- many at once --------------------------------------------------------------------------------- */

enum { THREADS = 4, ROUNDS = 60 };

/* Each thread uses its part of @dev, an event and a second stream. Returns the number of failed rounds. */
static void *exchange(void *part)
{
	const CUdeviceptr mine = dev + (uintptr_t)part * 4096, copy = other + (uintptr_t)part * 4096;
	unsigned char seen[4096];
	uintptr_t failed = 0;
	CUstream s, t;
	CUevent e;

	if (cuCtxSetCurrent(ctx))
		return (void *)1;
	for (int i = 0; i < ROUNDS; i++) {
		failed += cuStreamCreate(&s, CU_STREAM_NON_BLOCKING) || cuStreamCreate(&t, CU_STREAM_NON_BLOCKING) ||
			  cuEventCreate(&e, CU_EVENT_DISABLE_TIMING) || cuMemsetD8Async(mine, i, 4096, s) ||
			  cuEventRecord(e, s) || cuStreamWaitEvent(t, e, 0) || cuEventDestroy(e) ||
			  cuMemcpyDtoDAsync(copy, mine, 4096, t) || cuStreamDestroy(s) ||
			  cuMemcpyDtoHAsync(seen, copy, 4096, t) || cuStreamSynchronize(t) || cuStreamDestroy(t);
		failed += seen[0] != i || seen[4095] != i;
	}
	return (void *)failed;
}

CASE(threads_use_streams_at_once)
{
	uintptr_t failed = 0;
	pthread_t thread[THREADS];
	void *result;

	for (uintptr_t i = 0; i < THREADS; i++)
		OK(pthread_create(&thread[i], NULL, exchange, (void *)i));
	for (int i = 0; i < THREADS; i++) {
		pthread_join(thread[i], &result);
		failed += (uintptr_t)result;
	}
	EXPECT(!failed, "%lu rounds", failed);
}

/* Objects that one thread creates and destroys while other threads use them without synchronization */
static struct {
	_Atomic(CUcontext) ctx;
	_Atomic(CUstream) stream;
	_Atomic(CUevent) event;
	atomic_int end;
} prey;

static bool is_expected(CUresult err)
{
	return err == CUDA_SUCCESS || err == CUDA_ERROR_INVALID_HANDLE || err == CUDA_ERROR_CONTEXT_IS_DESTROYED ||
	       err == CUDA_ERROR_NOT_READY || err == CUDA_ERROR_INVALID_CONTEXT;
}

/* The first unexpected error of a thread */
struct surprise {
	const char *call;
	CUresult err;
};

static void expect(struct surprise *s, const char *call, CUresult err)
{
	if (!s->call && !is_expected(err))
		*s = (struct surprise){ call, err };
}

#define EXPECTED(call) expect(surprise, #call, call)

static void *hunt(void *surprise)
{
	CUcontext c;
	CUdeviceptr p;
	CUstream s;
	CUevent e;

	while (!prey.end) {
		c = prey.ctx;
		s = prey.stream;
		e = prey.event;
		if (!c || !s || !e || cuCtxSetCurrent(c))
			continue;
		EXPECTED(cuMemsetD8Async(dev, 1, 64, s));
		EXPECTED(cuMemsetD8(dev, 1, 64));
		EXPECTED(cuMemsetD8Async(dev, 1, 64, CU_STREAM_PER_THREAD));
		EXPECTED(cuEventRecord(e, s));
		EXPECTED(cuStreamWaitEvent(NULL, e, 0));
		EXPECTED(cuMemAlloc(&p, 1));
		EXPECTED(cuStreamSynchronize(s));
		EXPECTED(cuEventSynchronize(e));
		EXPECTED(cuCtxSynchronize_v2(c));
	}
	return NULL;
}

static void be_prey(void)
{
	CUcontext c;
	CUstream s;
	CUevent e;

	for (int i = 0; i < ROUNDS; i++) {
		OK(cuCtxCreate(&c, NULL, 0, 0));
		OK(cuStreamCreate(&s, 0));
		OK(cuEventCreate(&e, 0));
		prey.stream = s;
		prey.event = e;
		prey.ctx = c;
		sleep_ms(2);
		OK(cuStreamDestroy(s));
		OK(cuCtxDestroy(c));
	}
}

CASE(contexts_end_while_in_use)
{
	struct surprise surprise[THREADS] = { 0 };
	pthread_t thread[THREADS];

	if (!cu_emulated())
		SKIP("undefined on a real GPU");
	for (int i = 0; i < THREADS; i++)
		OK(pthread_create(&thread[i], NULL, hunt, &surprise[i]));
	be_prey();
	prey.end = 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	for (int i = 0; i < THREADS; i++)
		EXPECT(!surprise[i].call, "%s: %d", surprise[i].call, surprise[i].err);
	OK(cuCtxSynchronize());
}

CASE(destroy_waits_for_other_contexts_streams)
{
	struct gate g = { 0 };
	unsigned char *memory;
	pthread_t thread;
	CUcontext c;
	CUstream s;

	if (!cu_emulated())
		SKIP("undefined on a real GPU");
	OK(cuStreamCreate(&s, 0));
	OK(cuCtxCreate(&c, NULL, 0, 0));
	OK(cuMemAllocHost((void **)&memory, SIZE));
	OK(cuLaunchHostFunc(s, hold, &g));
	OK(cuMemsetD8Async((uintptr_t)memory, 1, SIZE, s));
	thread = start_opening(&g);
	wait_for(&g.reached);
	OK(cuCtxDestroy(c));
	EXPECT(g.open, "cuCtxDestroy() did not wait");
	pthread_join(thread, NULL);
	OK(cuStreamSynchronize(s));
	OK(cuStreamDestroy(s));
}

VMTEST_MAIN
