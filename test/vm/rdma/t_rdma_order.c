// SPDX-License-Identifier: MIT
/*
 * Events during operations: each round, the requester operates without a pause, and one end frees its
 * memory, deregisters it or destroys its QP. The requester gets an error; the next owner of the memory
 * keeps its bytes.
 */
#include "order.h"

SETUP(adapter_is_there)
{
	EXPECT(cu_start(0), "no GPU");
	loop_start();
}

enum event { FREE, DEREGISTER, DESTROY };

static int destroy(enum side side, struct requester *r)
{
	struct rc *rc = side == REQUESTER ? &loop.near : &loop.far;
	int err;

	if (side == REQUESTER)
		requester_stop(r);
	err = -ibv_destroy_qp(rc->qp);
	rc->qp = NULL;
	return err;
}

/* Afterwards the memory is free. */
static int happen(enum event event, enum side side, struct memory *m, struct requester *r)
{
	if (event == FREE)
		return memory_free(m);
	return (event == DESTROY ? destroy(side, r) : 0) ?: memory_close(m);
}

/* Since 6.2, Soft-RoCE flushes a request that failed locally. */
static bool is_expected(enum event event, const struct combination *c, int status)
{
	if (event == DESTROY)
		return status == (c->side == REQUESTER ? 0 : IBV_WC_RETRY_EXC_ERR);
	if (c->side == REQUESTER)
		return status == IBV_WC_LOC_PROT_ERR || status == IBV_WC_LOC_QP_OP_ERR || status == IBV_WC_WR_FLUSH_ERR;
	return status == (c->op == IBV_WR_SEND ? IBV_WC_REM_OP_ERR : IBV_WC_REM_ACCESS_ERR);
}

static void one_round(enum event event, const struct combination *c, int round)
{
	struct ibv_sge local, remote;
	struct requester r;
	CUdeviceptr next;
	struct memory m;

	EXPECT(!loop_restart() && !memory_open(&m, loop.near.pd, c->way), "registration: %d", errno);
	local = sge_of(c->side == REQUESTER ? m.mr : host);
	remote = sge_of(c->side == REQUESTER ? host : m.mr);
	EXPECT(!receives_post(&loop.far, &remote), "receive");
	EXPECT(!requester_start(&r, &loop.near, c->op, local, remote.addr, remote.lkey), "thread");
	while (!r.done && !r.status)
		receives_serve(&loop.far, &remote);
	serve_until(&loop.far, &remote, r.first_ns, round);
	EXPECT(!happen(event, c->side, &m, &r), "event");
	next = owner_new();
	EXPECT(requester_end(&r, &loop.far, &remote), "the requester hangs after %u operations", r.done);
	EXPECT(next && owner_keeps(next), "the next owner's bytes have changed");
	EXPECT(is_expected(event, c, r.status), "status %d after %u operations", r.status, r.done);
	EXPECT(!memory_close(&m), "close");
}

static void all_rounds(enum event event, int ways, int number)
{
	size_t before, after, total;
	struct combination c;
	int round;

	OK(cuMemGetInfo(&before, &total));
	for (round = 0; round < rounds(number); round++) {
		c = combination(round, ways);
		one_round(event, &c, round);
		if (vmtest_result != VMTEST_OK)
			printf("# round %d: operation %d, way %d, side %d\n", round, c.op, c.way, c.side);
		CHECK_CASE();
	}
	OK(cuMemGetInfo(&after, &total));
	EXPECT(before == after, "%zu bytes of the GPU's memory are lost", before - after);
}

CASE(free_ends_operations)
{
	all_rounds(FREE, ENDING_WAYS, OPS * ENDING_WAYS * SIDES);
}

CASE(deregistration_ends_operations)
{
	all_rounds(DEREGISTER, WAYS, OPS * WAYS * SIDES);
}

/* The requester's retries take a second. */
CASE(destruction_ends_operations)
{
	all_rounds(DESTROY, WAYS, OPS * WAYS * SIDES / 2);
}

VMTEST_MAIN
