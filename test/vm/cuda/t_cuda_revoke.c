// SPDX-License-Identifier: MIT
/*
 * Revocation by the emulated CUDA: when a block is revoked, which calls cuMemFree() delays
 * meanwhile, and when an address is allocated again. Pins are made through /dev/p2p_check.
 */
#include "cu.h"
#include "test/vm/harness/emu.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "test/kmod/p2p_check.h"

enum {
	BLOCK = EMUGPU_BLOCK_SIZE,
	PAGE = EMUGPU_PAGE_SIZE,
	SMALL = 256 << 10,
	DELAY_MS = 300,
	THREADS = 4,
	ROUNDS = 400,
};

static int node = -1, check = -1;

SETUP(gpu_and_peer_are_there)
{
	EXPECT(cu_start(0), "no GPU");
	node = emu_open();
	check = open("/dev/p2p_check", O_RDWR | O_CLOEXEC);
	EXPECT(node >= 0 && check >= 0, "insmod p2p_check.ko: %s", strerror(errno));
}

static uint32_t blocks(void)
{
	struct emugpu_test test;

	return emu_counts(node, &test) ? ~0u : test.counts.out_blocks;
}

/* Pin [va, va + length), rounded outward to pages, as a consumer does. */
static int pin(unsigned int slot, CUdeviceptr va, size_t length)
{
	struct p2p_check_call call = { .slot = slot };

	call.va = va / PAGE * PAGE;
	call.length = (va + length + PAGE - 1) / PAGE * PAGE - call.va;
	return emu_call(check, P2P_CHECK_GET, &call);
}

static int unpin(unsigned int slot)
{
	struct p2p_check_call call = { .slot = slot };

	return emu_call(check, P2P_CHECK_PUT, &call);
}

static int callbacks(unsigned int slot)
{
	struct p2p_check_callback seen = { .slot = slot };

	return emu_call(check, P2P_CHECK_CALLBACK, &seen) ? -1 : (int)seen.out_count;
}

CASE(last_free_returns_the_block)
{
	uint32_t before = blocks();
	CUdeviceptr p[8];

	for (int i = 0; i < 8; i++)
		OK(cuMemAlloc(&p[i], SMALL));
	EXPECT(blocks() == before + 1, "%u", blocks() - before);
	OK(cuMemAlloc(&p[0], 1));
	EXPECT(blocks() == before + 2, "%u", blocks() - before);
	OK(cuMemFree(p[0]));
	EXPECT(blocks() == before + 1, "%u", blocks() - before);
	OK(cuDevicePrimaryCtxReset(0));
	EXPECT(blocks() == 0, "%u", blocks());
	EXPECT(cu_start(0), "no context");
}

CASE(pin_outlives_a_neighbouring_allocation)
{
	CUdeviceptr a, b;

	OK(cuMemAlloc(&a, 1));
	OK(cuMemAlloc(&b, 1));
	OK(pin(0, a, 1));
	OK(cuMemFree(b));
	EXPECT(callbacks(0) == 0, "the free of a neighbour revoked the pin");
	OK(cuMemFree(a));
	EXPECT(callbacks(0) == 1, "%d callbacks", callbacks(0));
}

CASE(free_in_used_block_revokes_nothing)
{
	CUdeviceptr a, b;

	OK(cuMemAlloc(&a, 1));
	OK(cuMemAlloc(&b, 1));
	OK(pin(0, a, 1));
	OK(cuMemFree(a));
	EXPECT(callbacks(0) == 0, "the block is still in use");
	OK(unpin(0));
	OK(cuMemFree(b));
	EXPECT(callbacks(0) == 0, "callback after put");
}

CASE(pin_cannot_exceed_its_block)
{
	CUdeviceptr a;

	OK(cuMemAlloc(&a, 3 << 20));
	OK(pin(0, a, 4 << 20));
	OK(unpin(0));
	EXPECT(pin(0, a, (4 << 20) + 1) == -EINVAL, "pinned past the block");
	OK(cuMemFree(a));
	EXPECT(pin(0, a, 1) == -EINVAL, "pinned freed memory");
}

CASE(release_and_reset_revoke)
{
	CUdeviceptr a, b;

	OK(cuMemAlloc(&a, 1));
	OK(cuMemAlloc(&b, 3 << 20));
	OK(pin(0, a, 1));
	OK(pin(1, b, 3 << 20));
	OK(cuDevicePrimaryCtxReset(0));
	EXPECT(callbacks(0) == 1 && callbacks(1) == 1, "%d %d", callbacks(0), callbacks(1));
	EXPECT(cu_start(0), "no context");
}

static int child_frees(void *p)
{
	return cuMemFree((uintptr_t)p);
}

CASE(free_in_child_revokes_nothing)
{
	CUdeviceptr a;
	int status;

	OK(cuMemAlloc(&a, 3 << 20));
	OK(pin(0, a, 1));
	status = cu_in_child(child_frees, (void *)(uintptr_t)a);
	EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == CUDA_ERROR_NOT_INITIALIZED, "status %#x", status);
	EXPECT(callbacks(0) == 0, "revoked");
	OK(cuMemsetD8(a, 1, 3 << 20));
	OK(cuMemFree(a));
	EXPECT(callbacks(0) == 1, "%d", callbacks(0));
}

/* ---- while a free callback runs ---------------------------------------------------- */

static atomic_bool freed;

static void *free_it(void *p)
{
	CUresult err = cuMemFree((uintptr_t)p);

	atomic_store(&freed, true);
	return (void *)(uintptr_t)err;
}

static void sleep_ms(long ms)
{
	struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	nanosleep(&t, NULL);
}

static void meanwhile(CUdeviceptr dying, CUdeviceptr other)
{
	unsigned char buf[64];
	CUdeviceptr p;

	EXPECT(!cu_buffer_id(dying), "a pointer query finds memory that is being freed");
	IS(cuMemFree(dying), CUDA_ERROR_INVALID_VALUE);
	OK(cuMemcpyDtoH(buf, other, sizeof(buf)));
	OK(cuMemcpyDtoD(other + 64, other, 64));
	EXPECT(cu_buffer_id(other), "the other allocation is lost");
	OK(cuMemAlloc(&p, 1));
	OK(cuMemFree(p));
	EXPECT(!atomic_load(&freed), "the callback ended before the test was done");
}

CASE(slow_callback_delays_only_its_free)
{
	CUdeviceptr dying, other, again, small;
	pthread_t thread;
	void *err;

	OK(cuMemAlloc(&small, 1));
	OK(cuMemAlloc(&dying, 3 << 20));
	OK(cuMemAlloc(&other, 3 << 20));
	OK(pin(0, dying, 3 << 20));
	OK(emu_delay_callback(node, DELAY_MS));
	OK(pthread_create(&thread, NULL, free_it, (void *)(uintptr_t)dying));
	sleep_ms(DELAY_MS / 5);
	meanwhile(dying, other);
	pthread_join(thread, &err);
	OK(emu_delay_callback(node, 0));
	CHECK_CASE();
	EXPECT(!err, "cuMemFree gives %p", err);
	OK(cuMemAlloc(&again, 3 << 20));
	EXPECT(again == dying, "%#llx, not %#llx", again, dying);
	OK(cuMemFree(again));
	OK(cuMemFree(other));
	OK(cuMemFree(small));
}

static void *alloc_it(void *out)
{
	CUcontext ctx;

	if (cuDevicePrimaryCtxRetain(&ctx, 0) || cuCtxSetCurrent(ctx) || cuMemAlloc(out, 3 << 20))
		*(CUdeviceptr *)out = 0;
	cuDevicePrimaryCtxRelease(0);
	return NULL;
}

CASE(address_is_reused_after_its_callbacks)
{
	pthread_t freeing, allocating;
	CUdeviceptr dying, p;

	OK(cuMemAlloc(&dying, 3 << 20));
	OK(pin(0, dying, 3 << 20));
	OK(emu_delay_callback(node, DELAY_MS));
	OK(pthread_create(&freeing, NULL, free_it, (void *)(uintptr_t)dying));
	sleep_ms(DELAY_MS / 5);
	OK(pthread_create(&allocating, NULL, alloc_it, &p));
	pthread_join(allocating, NULL);
	pthread_join(freeing, NULL);
	OK(emu_delay_callback(node, 0));
	EXPECT(p && p != dying, "%#llx", p);
	OK(cuMemFree(p));
}

/* ---- many threads ---------------------------------------------------------------------- */

struct worker {
	pthread_t thread;
	unsigned int seed;
	char why[100];
};

static bool round_trip(struct worker *w, CUdeviceptr p, size_t size)
{
	unsigned char value = rand_r(&w->seed), got[2];

	if (cuMemsetD8(p, value, size) || cuMemcpyDtoH(got, p, 1) || cuMemcpyDtoH(got + 1, p + size - 1, 1)) {
		snprintf(w->why, sizeof(w->why), "a copy failed");
		return false;
	}
	if (got[0] != value || got[1] != value)
		snprintf(w->why, sizeof(w->why), "%#x became %#x, %#x", value, got[0], got[1]);
	return !w->why[0];
}

static void *work(void *arg)
{
	struct worker *w = arg;
	CUdeviceptr p;
	CUcontext ctx;

	if (cuDevicePrimaryCtxRetain(&ctx, 0) || cuCtxSetCurrent(ctx))
		snprintf(w->why, sizeof(w->why), "no context");
	for (int i = 0; i < ROUNDS && !w->why[0]; i++) {
		size_t size = 1 + rand_r(&w->seed) % (i % 8 ? 5000 : 3 << 20);

		if (cuMemAlloc(&p, size))
			snprintf(w->why, sizeof(w->why), "no memory");
		else if (round_trip(w, p, size) && cuMemFree(p))
			snprintf(w->why, sizeof(w->why), "not freed");
	}
	cuDevicePrimaryCtxRelease(0);
	return NULL;
}

CASE(racing_threads_share_no_memory)
{
	struct worker workers[THREADS] = { 0 };
	uint32_t before = blocks();

	for (int i = 0; i < THREADS; i++) {
		workers[i].seed = i + 1;
		OK(pthread_create(&workers[i].thread, NULL, work, &workers[i]));
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(workers[i].thread, NULL);
	for (int i = 0; i < THREADS; i++)
		EXPECT(!workers[i].why[0], "thread %d: %s", i, workers[i].why);
	EXPECT(blocks() == before, "%u blocks, not %u", blocks(), before);
}

static bool lost(CUresult err)
{
	return err == CUDA_ERROR_CONTEXT_IS_DESTROYED || err == CUDA_ERROR_INVALID_VALUE;
}

/* Allocate and free while another thread resets the context. */
static void *work_in_a_shaky_context(void *arg)
{
	struct worker *w = arg;
	CUdeviceptr p;
	CUcontext ctx;
	CUresult err = CUDA_SUCCESS;

	if (cuDevicePrimaryCtxRetain(&ctx, 0) || cuCtxSetCurrent(ctx))
		snprintf(w->why, sizeof(w->why), "no context");
	for (int i = 0; i < ROUNDS && (!err || lost(err)); i++) {
		err = cuMemAlloc(&p, 1 + rand_r(&w->seed) % (i % 4 ? 5000 : 3 << 20));
		if (!err)
			err = cuMemFree(p);
	}
	if (err && !lost(err))
		snprintf(w->why, sizeof(w->why), "gives %d", err);
	return NULL;
}

CASE(reset_races_with_allocations)
{
	struct worker workers[THREADS] = { 0 };

	for (int i = 0; i < THREADS; i++) {
		workers[i].seed = i + 1;
		OK(pthread_create(&workers[i].thread, NULL, work_in_a_shaky_context, &workers[i]));
	}
	for (int i = 0; i < ROUNDS; i++) {
		OK(cuDevicePrimaryCtxReset(0));
		EXPECT(cu_start(0), "no context");
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(workers[i].thread, NULL);
	for (int i = 0; i < THREADS; i++)
		EXPECT(!workers[i].why[0], "thread %d: %s", i, workers[i].why);
	OK(cuDevicePrimaryCtxReset(0));
	EXPECT(blocks() == 0, "%u blocks", blocks());
}

CASE(driver_reports_no_violation)
{
	struct emugpu_test test;

	OK(emu_counts(node, &test));
	EXPECT(!test.counts.out_pins && !test.counts.out_violations, "%u pins, %llu violations", test.counts.out_pins,
	       (unsigned long long)test.counts.out_violations);
}

VMTEST_MAIN
