// SPDX-License-Identifier: MIT
/*
 * Registration while another thread frees the memory. Afterwards the bytes have a next owner, at another
 * address: no operation of an MR succeeds, and the bytes do not change. ROUNDS in the environment.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "rdma.h"
#include "test/vm/core/pin.h"
#include "test/vm/harness/emu.h"
#include "test/vm/harness/module.h"
#include "test/vm/harness/stall.h"

enum { LENGTH = 64 << 10, DELAYS = 41 };

static int gpu = -1;

static int rounds(void)
{
	const char *set = getenv("ROUNDS");

	return set ? atoi(set) : vmtest_rounds(60);
}

SETUP(adapter_is_there)
{
	gpu = emu_open();
	EXPECT(gpu >= 0, "no GPU");
	loop_start();
}

/* ---- the freeing thread --------------------------------------------------------------- */

struct freeing {
	pthread_t thread;
	struct timespec delay;
	atomic_bool freed;	/* GPU_A is free; GPU_B has the next owner's bytes */
	int err;
};

static void *free_run(void *arg)
{
	struct freeing *f = arg;

	nanosleep(&f->delay, NULL);
	f->err = emu_free(gpu, GPU_A) ?: emu_alloc(gpu, GPU_B, BLOCK) ?: emu_fill(gpu, GPU_B, 1, 0x5a, BLOCK);
	f->freed = true;
	return NULL;
}

static int free_start(struct freeing *f, int round, long step_ns)
{
	*f = (struct freeing){ .delay.tv_nsec = (round % DELAYS) * step_ns };
	return pthread_create(&f->thread, NULL, free_run, f);
}

/* ---- registration --------------------------------------------------------------------- */

static int operate(const struct memory *m, enum ibv_wr_opcode op)
{
	return rc_transfer(&loop.near, op, host, (uintptr_t)bytes, (uintptr_t)m->mr->addr, m->mr->rkey, LENGTH);
}

/* A region that was revoked may be unknown already. */
static int race_close(struct memory *m)
{
	int err = m->mr ? -ibv_dereg_mr(m->mr) : 0;

	if (m->region.id)
		pp_unpin(peerpin, &m->region);
	return err;
}

/* Register, use and deregister until the memory is freed. Returns with the last MR, if there is one. */
static int race_register(struct memory *m, enum way way, const struct freeing *f, unsigned int *operations)
{
	int err;

	for (;;) {
		*m = (struct memory){ .at = GPU_A };
		err = memory_register(m, loop.near.pd, way, 0, BLOCK);
		if (!err && !operate(m, IBV_WR_RDMA_WRITE))
			(*operations)++;
		else if (!err && loop_restart())
			return -ENOTCONN;
		if (err || f->freed)
			return 0;
		err = race_close(m);
		if (err)
			return err;
	}
}

/* Sets @step_ns so that the delays of the free reach beyond the first operation on any kernel. */
static void measure(enum way way, long *step_ns)
{
	struct memory m = { .at = GPU_A };
	uint64_t start = now_ns();

	EXPECT(!emu_alloc(gpu, GPU_A, BLOCK) && !memory_register(&m, loop.near.pd, way, 0, BLOCK), "registration");
	EXPECT(!operate(&m, IBV_WR_RDMA_WRITE) && !race_close(&m) && !emu_free(gpu, GPU_A), "write");
	*step_ns = (long)(now_ns() - start) / 8;
	if (*step_ns * DELAYS >= 1000000000L)
		*step_ns = 999999999L / DELAYS;
}

static void race(enum way way, int round, long step_ns, unsigned int *operations)
{
	struct freeing f;
	struct memory m;
	int err;

	EXPECT(!emu_alloc(gpu, GPU_A, BLOCK) && !free_start(&f, round, step_ns), "round %d", round);
	err = race_register(&m, way, &f, operations);
	pthread_join(f.thread, NULL);
	EXPECT(!err && !f.err, "round %d: registration %d, free %d", round, err, f.err);
	EXPECT(!m.mr || (!loop_restart() && operate(&m, IBV_WR_RDMA_WRITE) == IBV_WC_REM_ACCESS_ERR), "round %d: written", round);
	EXPECT(!m.mr || (!loop_restart() && operate(&m, IBV_WR_RDMA_READ) == IBV_WC_REM_ACCESS_ERR), "round %d: read", round);
	EXPECT(!emu_read(gpu, back, GPU_B, BLOCK) && back_is_kept(), "round %d: the next owner's bytes have changed", round);
	EXPECT(!race_close(&m) && !emu_free(gpu, GPU_B) && !loop_restart(), "round %d: end", round);
}

static void races(enum way way)
{
	unsigned int operations = 0;
	struct emugpu_info info;
	long step_ns = 0;
	int round;

	measure(way, &step_ns);
	CHECK_CASE();
	for (round = 0; round < rounds(); round++) {
		race(way, round, step_ns, &operations);
		CHECK_CASE();
	}
	EXPECT(operations, "no operation was fast enough");
	EXPECT(!emu_info(gpu, 0, &info) && info.out_vram_free == info.out_vram_total, "memory is lost");
}

CASE(free_races_with_pointer)
{
	races(BY_POINTER);
}

CASE(free_races_with_region_dmabuf)
{
	races(BY_REGION_DMABUF);
}

/* ---- a registration that takes longer than the free waits -------------------------------- */

static void *register_slowly(void *arg)
{
	struct memory *m = arg;

	return (void *)(intptr_t)memory_register(m, loop.near.pd, BY_POINTER, 0, BLOCK);
}

static void free_during(struct memory *m)
{
	pthread_t thread;
	void *err;

	EXPECT(!pthread_create(&thread, NULL, register_slowly, m), "thread");
	while (!stall_count())
		usleep(1000);
	EXPECT(!emu_free(gpu, GPU_A) && !emu_alloc(gpu, GPU_B, BLOCK) && !emu_fill(gpu, GPU_B, 1, 0x5a, BLOCK), "free");
	pthread_join(thread, &err);
	EXPECT(!err, "registration: %d", (int)(intptr_t)err);
}

/*
 * The registration stalls after the client has mapped the memory. The free waits for drain_timeout_ms, the
 * invalidation for five seconds. Both end before the registration: its MR must not become valid.
 */
CASE(late_registration_is_invalid)
{
	struct memory m = { .at = GPU_A };

	EXPECT(!emu_alloc(gpu, GPU_A, BLOCK) && !stall("rdma_memory_fill", 6000), "test/stall.ko: %d", errno);
	free_during(&m);
	EXPECT(!stall_end(), "test/stall.ko: %d", errno);
	CHECK_CASE();
	EXPECT(operate(&m, IBV_WR_RDMA_WRITE) == IBV_WC_REM_ACCESS_ERR, "the adapter has written to freed memory");
	EXPECT(!emu_read(gpu, back, GPU_B, BLOCK) && back_is_kept(), "the next owner's bytes have changed");
	EXPECT(!race_close(&m) && !emu_free(gpu, GPU_B) && !loop_restart(), "end");
}

VMTEST_MAIN
