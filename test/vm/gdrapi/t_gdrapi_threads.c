// SPDX-License-Identifier: MIT
/* Threads share one file of libgdrapi, first with their own handles, then with one shared handle. */
#include <pthread.h>
#include <stdatomic.h>

#include "gdr.h"

enum {
	THREADS = 4,
	ROUNDS = 150,
	EACH = 2 * GPU_PAGE,
};

static gdr_t g;
static int gpu = -1;
static CUdeviceptr mem;
static CUcontext ctx;
static _Atomic(int) wrong;	/* line of the first failed check; 0: no check failed */

static void check(int ok, int line)
{
	int none = 0;

	if (!ok)
		atomic_compare_exchange_strong(&wrong, &none, line);
}

#define CHECK(condition) check(condition, __LINE__)

SETUP(everything_is_there)
{
	ctx = cu_start(0);
	EXPECT(ctx, "no GPU");
	gpu = emu_open();
	g = gdr_open_revocable();
	EXPECT(gpu >= 0 && g, "gpu %d, gdr_open: %s", gpu, strerror(errno));
	OK(cuMemAlloc(&mem, THREADS * EACH));
}

static void run(void *(*fn)(void *))
{
	pthread_t threads[THREADS];
	uintptr_t i;

	wrong = 0;
	for (i = 0; i < THREADS; i++)
		EXPECT(!pthread_create(&threads[i], NULL, fn, (void *)i), "thread %lu", i);
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	EXPECT(!wrong, "the check in line %d failed", wrong);
}

/* ---- own handles ------------------------------------------------------------------ */

static void own_round(unsigned int thread, unsigned int round)
{
	unsigned char out[300], in[300];
	size_t at = round % PAGE;
	struct mapped m;

	CHECK(!gdr_get(g, mem + thread * EACH + round % 16 * PAGE, GPU_PAGE, &m));
	memset(out, thread * 50 + round % 50, sizeof(out));
	CHECK(!gdr_copy_to_mapping(m.mh, m.view + at, out, sizeof(out)));
	CHECK(!gdr_copy_from_mapping(m.mh, in, m.view + at, sizeof(in)));
	CHECK(!memcmp(in, out, sizeof(in)));
	CHECK(!gdr_put(&m));
}

static void *own(void *arg)
{
	unsigned int round;

	for (round = 0; round < ROUNDS && !wrong; round++)
		own_round((uintptr_t)arg, round);
	return NULL;
}

CASE(threads_with_their_own_pins)
{
	run(own);
	EXPECT(pins_left(gpu) == 0, "%u pins are left", pins_left(gpu));
}

/* ---- a shared handle ------------------------------------------------------------------ */

static gdr_mh_t shared;
static _Atomic(unsigned int) maps, unmaps, unpins, seen;

static int is_one_of(int got, int a, int b)
{
	return !got || got == a || got == b;
}

/* True if the shared handle is still valid. */
static bool shared_round(void)
{
	void *view = NULL;
	gdr_info_t info;
	int flag, ret, told;

	ret = gdr_map(g, shared, &view, EACH);
	CHECK(is_one_of(ret, EAGAIN, EINVAL));
	maps += !ret;
	told = gdr_get_info(g, shared, &info);
	CHECK(is_one_of(told, EINVAL, EINVAL));
	CHECK(is_one_of(gdr_get_callback_flag(g, shared, &flag), EINVAL, EINVAL));
	if (view) {
		ret = gdr_unmap(g, shared, view, EACH);
		CHECK(is_one_of(ret, EINVAL, EINVAL));
		unmaps += !ret;
	}
	return !told;
}

static void *share(void *arg)
{
	unsigned int round;

	for (round = 0; arg || round < ROUNDS; round++)
		if (!shared_round())
			break;
	if (arg)
		seen++;
	else
		unpins += !gdr_unpin_buffer(g, shared);
	return NULL;
}

CASE(unpin_races_with_use_of_handle)
{
	EXPECT(!gdr_pin_buffer(g, mem, EACH, 0, 0, &shared), "pin");
	run(share);
	CHECK_CASE();
	EXPECT(unpins == 1 && maps && seen == THREADS - 1,
	       "%u unpins, %u maps, %u threads saw the end", unpins, maps, seen);
	EXPECT(unmaps == maps || unmaps + 1 == maps, "%u mapped, %u unmapped", maps, unmaps);
	EXPECT(pins_left(gpu) == 0, "%u pins are left", pins_left(gpu));
}

static void *unpin_shared(void *arg)
{
	(void)arg;
	unpins += !gdr_unpin_buffer(g, shared);
	return NULL;
}

CASE(one_of_racing_unpins_succeeds)
{
	unsigned int round;

	for (round = 0; round < 20; round++) {
		unpins = 0;
		EXPECT(!gdr_pin_buffer(g, mem, EACH, 0, 0, &shared), "pin");
		run(unpin_shared);
		CHECK_CASE();
		EXPECT(unpins == 1, "%u unpins succeeded", unpins);
	}
}

/* ---- freed memory ------------------------------------------------------------ */

static void *free_and_allocate(void *arg)
{
	CUdeviceptr gone;
	struct mapped m;
	unsigned int round;
	int flag = -1;

	if ((uintptr_t)arg)
		return own(arg);
	CHECK(!cuCtxSetCurrent(ctx));
	for (round = 0; round < ROUNDS / 5; round++) {
		CHECK(!cuMemAlloc(&gone, 2 << 20));
		CHECK(!gdr_get(g, gone, 2 << 20, &m));
		CHECK(!cuMemFree(gone));
		CHECK(!gdr_get_callback_flag(g, m.mh, &flag) && flag == 1);
		CHECK(!gdr_put(&m));
	}
	return NULL;
}

CASE(free_by_one_thread_spares_others)
{
	run(free_and_allocate);
	EXPECT(pins_left(gpu) == 0, "%u pins are left", pins_left(gpu));
	EXPECT(!gdr_close(g), "close");
	OK(cuMemFree(mem));
}

VMTEST_MAIN
