// SPDX-License-Identifier: MIT
/*
 * Free or revoke the memory after each step of a registration, and at each call of the GPU driver,
 * with InfiniBand cores of each kind.
 */
#include <pthread.h>

#include "ibpeer.h"

/* A registration, and the time and kind of the revocation */
struct life {
	enum ib_peer_op when;	/* the step after which the revocation comes */
	unsigned int core;	/* flags of enum ib_peer_flags */
	enum ib_peer_device device;
	bool kept;		/* true: revoke the pin and keep the memory; false: free the memory */
};

static const unsigned int cores[] = { 0, IB_PEER_OLD_CORE, IB_PEER_OLD_CORE | IB_PEER_RELEASES };

/* ---- the freeing thread ------------------------------------------------------------------- */

struct taker {
	pthread_t thread;
	bool kept;
	int ret;
	double seconds;
};

static void *take(void *arg)
{
	struct taker *t = arg;
	double start = now();

	t->ret = t->kept ? emu_revoke(gpu, GPU_A) : emu_free(gpu, GPU_A);
	t->seconds = now() - start;
	return NULL;
}

/* The free must not wait for the core's drain timeout of 1 s. */
static void take_end(struct taker *t)
{
	pthread_join(t->thread, NULL);
	EXPECT(!t->ret, "free or revoke: %d", t->ret);
	EXPECT(t->seconds < 0.5, "took %.3f s", t->seconds);
}

/* The step that ends the wait of a free that came after step @when; 0 if the free does not wait. */
static enum ib_peer_op let_on(enum ib_peer_op when)
{
	switch (when) {
	case IB_PEER_DMA_MAP:
		return IB_PEER_ACTIVATE;
	case IB_PEER_STOP:
		return IB_PEER_PUT;
	default:
		return 0;
	}
}

static void wait_invalidated(int mr)
{
	int i;

	for (i = 0; i < 400 && !mr_state(mr).out_invalidated; i++)
		usleep(1000);
}

static void take_begin(struct taker *t, int mr, const struct life *l)
{
	t->kept = l->kept;
	pthread_create(&t->thread, NULL, take, t);
	if (let_on(l->when))
		wait_invalidated(mr);
	else
		take_end(t);
}

/* ---- the life of a registration --------------------------------------------------------------------------- */

/*
 * True if the memory was revoked before step @op. Other clients pin only in GET_PAGES: if only the
 * pin was revoked before, they still find the memory.
 */
static bool had_gone(const struct life *l, enum ib_peer_op op)
{
	if (l->when == IB_PEER_ACQUIRE && l->kept && !client_is_ours())
		return false;
	return l->when < op;
}

/* Revoked memory must not be mapped. Our client fails in DMA_MAP, other clients may fail earlier. */
static void expect_refused(enum ib_peer_op op, int ret)
{
	if (client_is_ours())
		EXPECT(op == IB_PEER_DMA_MAP && ret == -ESTALE, "step %u: %d", op, ret);
	else
		EXPECT(op == IB_PEER_GET_PAGES || op == IB_PEER_DMA_MAP, "step %u: %d", op, ret);
}

static int step(int mr, const struct life *l, enum ib_peer_op op)
{
	struct ib_peer arg = { .addr = GPU_A + PAGE + 1, .length = GPU_PAGE, .flags = l->core, .device = l->device };

	return mr_call(mr, op, &arg);
}

/* Make all steps until one is refused, then RELEASE. */
static void step_through(int mr, const struct life *l)
{
	enum ib_peer_op op;
	struct taker taker;
	int ret = 0;

	for (op = IB_PEER_ACQUIRE; op <= IB_PEER_PUT && !ret; op++) {
		ret = step(mr, l, op);
		if (ret)
			expect_refused(op, ret);
		if (op == l->when)
			take_begin(&taker, mr, l);
		if (op == let_on(l->when))
			take_end(&taker);
		CHECK_CASE();
	}
	EXPECT(!ret == !had_gone(l, IB_PEER_DMA_MAP), "%d", ret);
	EXPECT(!step(mr, l, IB_PEER_RELEASE), "release");
	if (l->when == IB_PEER_RELEASE)
		take_begin(&taker, mr, l);
}

/*
 * The device's driver must be notified only while it has a mapping. The core must call each
 * function of the client once. (Other clients may invalidate without need, and unmap by
 * themselves.)
 */
static void expect_told(int mr, const struct life *l)
{
	bool mapped = !had_gone(l, IB_PEER_DMA_MAP);
	bool told = l->when == IB_PEER_DMA_MAP || l->when == IB_PEER_ACTIVATE;
	struct ib_peer s = mr_state(mr);

	EXPECT(s.out_told == told, "%u notifications", s.out_told);
	EXPECT(!s.out_overdue, "%u invalidations timed out", s.out_overdue);
	EXPECT(s.out_unmaps <= 1 && s.out_puts <= 1, "%u unmaps, %u puts", s.out_unmaps, s.out_puts);
	if (!client_is_ours())
		return;
	EXPECT(s.out_invalidated == (told || l->when == IB_PEER_STOP), "invalidated %u times", s.out_invalidated);
	EXPECT(s.out_unmaps == mapped && s.out_puts == 1, "%u unmaps, %u puts", s.out_unmaps, s.out_puts);
}

static void live(const struct life *l)
{
	int mr = mr_open();

	EXPECT(!gpu_alloc(GPU_A), "alloc");
	step_through(mr, l);
	if (vmtest_result == VMTEST_OK)
		expect_told(mr, l);
	close(mr);
	if (l->kept)
		emu_free(gpu, GPU_A);
	if (vmtest_result == VMTEST_OK)
		ibpeer_expect_clean(__LINE__);
	if (vmtest_result != VMTEST_OK)
		printf("# after step %u, core %u, device %u, kept %d\n", l->when, l->core, l->device, l->kept);
}

SETUP(everything_is_there)
{
	EXPECT_SHIM();
	EXPECT(!client_load("persistent=0"), "load");
	EXPECT_CLEAN();
}

static void live_all(enum ib_peer_op when)
{
	struct life l = { .when = when };
	unsigned int i;

	for (i = 0; i < 12 && vmtest_result == VMTEST_OK; i++) {
		l.core = cores[i % 3];
		l.device = i / 3 % 2 ? IB_PEER_PLATFORM : IB_PEER_CHIP;
		l.kept = i / 6;
		live(&l);
	}
}

#define TAKEN_AFTER(name, step) CASE(taken_after_ ## name) { live_all(IB_PEER_ ## step); }
TAKEN_AFTER(acquire, ACQUIRE)
TAKEN_AFTER(get_pages, GET_PAGES)
TAKEN_AFTER(dma_map, DMA_MAP)
TAKEN_AFTER(activate, ACTIVATE)
TAKEN_AFTER(stop, STOP)
TAKEN_AFTER(unmap, UNMAP)
TAKEN_AFTER(put, PUT)
TAKEN_AFTER(release, RELEASE)

/* ---- at each call of the GPU driver --------------------------------------------------- */

static int register_once(void)
{
	int mr = mr_open();
	int ret = mr_register(mr, GPU_A, BLOCK, IB_PEER_CHIP, 0);

	close(mr);
	return ret;
}

CASE(revoked_at_each_gpu_driver_call)
{
	struct emugpu_event events[16];
	unsigned int count, i;

	EXPECT(!gpu_alloc(GPU_A) && !emu_plan(gpu, 0, EMUGPU_ACT_NONE), "plan");
	EXPECT(!register_once() && !emu_events(gpu, events, 16, &count), "register");
	EXPECT(count == 2, "%u calls", count);
	for (i = 1; i <= count; i++) {
		EXPECT(!emu_plan(gpu, i, EMUGPU_ACT_REVOKE), "plan");
		/* The memory is still there: if the first client's pin fails, the second client takes the memory. */
		EXPECT(!register_once(), "call %u", i);
	}
	EXPECT(!emu_plan(gpu, 0, EMUGPU_ACT_NONE) && !emu_free(gpu, GPU_A), "free");
	EXPECT_CLEAN();
}

/* ---- hung devices ---------------------------------------------------- */

/* The device's driver hangs between map and activate. The free must end at the drain timeout. */
CASE(free_times_out_on_hung_device)
{
	struct taker taker = { .kept = false };
	int mr = mr_open();

	EXPECT(!gpu_alloc(GPU_A), "alloc");
	EXPECT(!step(mr, &(struct life){ .core = 0 }, IB_PEER_ACQUIRE), "acquire");
	EXPECT(!mr_step(mr, IB_PEER_GET_PAGES) && !mr_step(mr, IB_PEER_DMA_MAP), "map");
	take(&taker);
	EXPECT(!taker.ret && taker.seconds > 0.5 && taker.seconds < 3, "%d after %.3f s", taker.ret, taker.seconds);
	EXPECT(!mr_step(mr, IB_PEER_ACTIVATE) && !mr_deregister(mr), "deregister");
	close(mr);
	EXPECT_CLEAN();
}

CASE(nothing_is_left)
{
	EXPECT(!client_remove(), "remove");
	EXPECT_CLEAN();
}

VMTEST_MAIN
