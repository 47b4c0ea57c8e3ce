// SPDX-License-Identifier: MIT
/* Registrations by the InfiniBand client, step by step, while each allocation fails in turn */
#include "fail.h"
#include "test/vm/ibpeer/ibpeer.h"

SETUP(everything_is_there)
{
	EXPECT_SHIM();
	EXPECT(!client_load(""), "peerpin_ibpeer: %s", strerror(errno));
	EXPECT_CLEAN();
}

/* The core calls each client to find the owner of the memory. A client without memory for its answer says "no". */
static bool plausible(struct fail *f, int ret)
{
	return fail_plausible(f, ret) || (f->fired && (ret == -ENXIO || ret == -EIO));
}

#define EXPECT_PLAUSIBLE_HERE(f, ret) EXPECT(plausible(&(f), ret), "allocation %u: %d", (f).nth, ret)

CASE(open_of_the_node)
{
	int mr, ret;

	FAIL_EACH(f) {
		FAIL(f, ret = (mr = mr_open()) < 0 ? -errno : 0);
		EXPECT_PLAUSIBLE(f, ret);
		close(mr);
	}
}

/* ---- the steps of a registration ---------------------------------------------------------------- */

static unsigned int flags;

static int make_step(int mr, enum ib_peer_op op)
{
	struct ib_peer arg = { .addr = GPU_A, .length = BLOCK, .device = IB_PEER_CHIP, .flags = flags };

	return mr_call(mr, op, &arg);
}

static void each_step(enum ib_peer_op failing)
{
	enum ib_peer_op op;
	int mr, ret;

	FAIL_EACH(f) {
		mr = mr_open();
		for (op = IB_PEER_ACQUIRE; op < failing; op++)
			EXPECT(!make_step(mr, op), "step %d", op);
		FAIL(f, ret = make_step(mr, failing));
		EXPECT_PLAUSIBLE_HERE(f, ret);
		close(mr);
	}
}

static void each_step_of(unsigned int core)
{
	enum ib_peer_op op;

	flags = core;
	EXPECT(!gpu_alloc(GPU_A), "alloc");
	for (op = IB_PEER_ACQUIRE; op <= IB_PEER_RELEASE; op++) {
		each_step(op);
		EXPECT(vmtest_result == VMTEST_OK, "step %d", op);
	}
	EXPECT(!emu_free(gpu, GPU_A), "free");
}

CASE(persistent_registrations)
{
	each_step_of(0);
}

/* A second registration finds a known device. */
CASE(the_second_registration)
{
	int mr, other, ret;

	EXPECT(!gpu_alloc(GPU_A), "alloc");
	FAIL_EACH(f) {
		mr = mr_open();
		other = mr_open();
		EXPECT(!mr_register(mr, GPU_A, BLOCK, IB_PEER_CHIP, 0), "register");
		FAIL(f, ret = mr_register(other, GPU_A + PAGE, PAGE, IB_PEER_CHIP, 0));
		EXPECT_PLAUSIBLE_HERE(f, ret);
		close(other);
		close(mr);
	}
	EXPECT(!emu_free(gpu, GPU_A), "free");
}

/* ---- revocable memory ------------------------------------------------------------------- */

CASE(client_is_reloaded_as_revocable)
{
	EXPECT(!client_remove() && !client_load("persistent=0"), "%s", strerror(errno));
}

CASE(revocable_registrations)
{
	each_step_of(0);
	CHECK_CASE();
	each_step_of(IB_PEER_OLD_CORE);
}

static void each_free(unsigned int core)
{
	int mr, ret;

	FAIL_EACH(f) {
		mr = mr_open();
		EXPECT(!gpu_alloc(GPU_A) && !mr_register(mr, GPU_A, BLOCK, IB_PEER_CHIP, core), "register");
		FAIL(f, ret = emu_free(gpu, GPU_A));
		EXPECT_PLAUSIBLE(f, ret);
		EXPECT(!ret || !emu_free(gpu, GPU_A), "free");
		EXPECT(mr_state(mr).out_invalidated == 1, "allocation %u: invalidated %u times", f.nth,
		       mr_state(mr).out_invalidated);
		close(mr);
	}
}

CASE(free_of_registered_memory)
{
	each_free(0);
	CHECK_CASE();
	each_free(IB_PEER_OLD_CORE);
	CHECK_CASE();
	each_free(IB_PEER_OLD_CORE | IB_PEER_RELEASES);
}

CASE(close_of_the_node)
{
	int mr, ret;

	EXPECT(!gpu_alloc(GPU_A), "alloc");
	FAIL_EACH(f) {
		mr = mr_open();
		EXPECT(!mr_register(mr, GPU_A, BLOCK, IB_PEER_CHIP, 0), "register");
		FAIL(f, ret = close(mr));
		EXPECT_DONE(f, ret);
	}
	EXPECT(!emu_free(gpu, GPU_A), "free");
}

CASE(client_is_removed)
{
	EXPECT(!client_remove(), "%s", strerror(errno));
	EXPECT_CLEAN();
}

VMTEST_MAIN
