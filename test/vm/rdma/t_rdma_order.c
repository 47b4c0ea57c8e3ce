// SPDX-License-Identifier: MIT
/*
 * The end of a peer during its operations: each round, one end requests without a pause, and the other
 * end frees its memory, deregisters it, destroys its QP or is killed. Then the requester gets an error,
 * and the next owner of the memory keeps its bytes. ROUNDS in the environment: rounds of each case.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

#include "rdma.h"

enum { LENGTH = 256 << 10, ATOMIC_AT = 4096, DELAYS = 37 };

static struct loop loop;
static struct ibv_mr *host;
static unsigned char bytes[BLOCK], back[BLOCK];

static int rounds(void)
{
	const char *set = getenv("ROUNDS");

	return set ? atoi(set) : 3;
}

static int reconnect(void)
{
	return rc_new(&loop.near) ?: rc_new(&loop.far) ?: rc_connect_hastily(&loop.near, &loop.far.id) ?:
	       rc_connect_hastily(&loop.far, &loop.near.id);
}

SETUP(adapter_is_there)
{
	EXPECT(cu_start(0), "no GPU");
	EXPECT(!pp_open(&peerpin), "no /dev/peerpin");
	EXPECT(!loop_open(&loop), "no adapter, or no connection");
	host = ibv_reg_mr(loop.near.pd, bytes, sizeof(bytes), ACCESS);
	EXPECT(host, "ibv_reg_mr of host memory: %d", errno);
}

/* ---- the requester ---------------------------------------------------------------- */

/** struct requester - a thread that repeats one operation until it fails */
struct requester {
	enum ibv_wr_opcode op;
	uint64_t remote;
	uint32_t rkey;
	pthread_t thread;
	atomic_uint done;
	int status;
};

static int request(struct requester *r)
{
	if (r->op == IBV_WR_ATOMIC_FETCH_AND_ADD)
		return loop_atomic(&loop, host, r->remote + ATOMIC_AT, r->rkey, r->op, 1, 0);
	return rc_transfer(&loop.near, r->op, host, (uintptr_t)bytes, r->remote, r->rkey, LENGTH);
}

static void *request_until_error(void *arg)
{
	struct requester *r = arg;

	while (!r->status) {
		r->status = request(r);
		r->done += !r->status;
	}
	return NULL;
}

static int requester_start(struct requester *r, enum ibv_wr_opcode op, uint64_t remote, uint32_t rkey)
{
	*r = (struct requester){ .op = op, .remote = remote, .rkey = rkey };
	return pthread_create(&r->thread, NULL, request_until_error, r);
}

/* Another moment of an operation each round; the first operation has begun. */
static void requester_delay(struct requester *r, int round)
{
	struct timespec t = { .tv_nsec = (round % DELAYS) * 400000 };

	while (!r->done && !r->status)
		;
	nanosleep(&t, NULL);
}

/* ---- events ------------------------------------------------------------------------- */

enum event { FREE, DEREGISTER, DESTROY };

static int happen(enum event event, struct memory *m)
{
	int err;

	switch (event) {
	case FREE:
		return memory_free(m);
	case DEREGISTER:
		err = -ibv_dereg_mr(m->mr);
		m->mr = NULL;
		return err;
	default:
		err = -ibv_destroy_qp(loop.far.qp);
		loop.far.qp = NULL;
		return err;
	}
}

/* Memory that may be what was freed: it keeps its bytes while the requester still runs. */
static void next_owner_keeps_bytes(struct requester *r)
{
	CUdeviceptr next;

	OK(cuMemAlloc(&next, BLOCK));
	OK(cuMemsetD8(next, 0x5a, BLOCK) ?: cuCtxSynchronize());
	pthread_join(r->thread, NULL);
	OK(cuMemcpyDtoH(back, next, BLOCK));
	EXPECT(back[0] == 0x5a && !memcmp(back, back + 1, BLOCK - 1), "the next owner's bytes have changed");
	OK(cuMemFree(next));
}

static void one_round(enum event event, enum way way, enum ibv_wr_opcode op, int round)
{
	struct requester r;
	struct memory m;

	EXPECT(!reconnect() && !memory_open(&m, loop.near.pd, way), "round %d", round);
	EXPECT(!requester_start(&r, op, m.at, m.mr->rkey), "thread");
	requester_delay(&r, round);
	EXPECT(!happen(event, &m), "round %d: event", round);
	next_owner_keeps_bytes(&r);
	CHECK_CASE();
	EXPECT(r.status == IBV_WC_REM_ACCESS_ERR || (event == DESTROY && r.status == IBV_WC_RETRY_EXC_ERR),
	       "round %d: status %d", round, r.status);
	EXPECT(!memory_close(&m), "round %d: close", round);
}

static void all_rounds(enum event event)
{
	static const enum ibv_wr_opcode ops[] = { IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD };
	size_t before, after, total;
	int round, op;

	OK(cuMemGetInfo(&before, &total));
	for (round = 0; round < rounds(); round++) {
		for (op = 0; op < 3; op++) {
			one_round(event, BY_POINTER, ops[op], round);
			CHECK_CASE();
			one_round(event, BY_REGION_DMABUF, ops[op], round);
			CHECK_CASE();
		}
	}
	OK(cuMemGetInfo(&after, &total));
	EXPECT(before == after, "%zu bytes of the GPU's memory are lost", before - after);
}

CASE(free_ends_operations)
{
	all_rounds(FREE);
}

CASE(deregistration_ends_operations)
{
	all_rounds(DEREGISTER);
}

CASE(destruction_ends_operations)
{
	all_rounds(DESTROY);
}

/* ---- a killed process ----------------------------------------------------------------- */

/** struct window - what a process tells of its end */
struct window {
	struct rc_id id;
	uint64_t at;
	uint32_t rkey;
};

struct child {
	pid_t pid;
	int in, out;
};

static void receive_for_ever(struct memory *m, struct rc *rc)
{
	struct ibv_sge sge = { .addr = m->at, .length = LENGTH, .lkey = m->mr->lkey };
	struct ibv_recv_wr *bad, wr = { .sg_list = &sge, .num_sge = 1 };
	struct ibv_wc wc;

	for (;;) {
		ibv_post_recv(rc->qp, &wr, &bad);
		while (!ibv_poll_cq(rc->cq, 1, &wc))
			;
	}
}

/* Another program: it has its own context of CUDA and of the adapter. */
static int be_killed(int in, int out)
{
	struct window window;
	struct memory m;
	struct rc_id to;
	struct rc rc;

	if (!cu_start(0) || pp_open(&peerpin) || rc_open(&rc) || rc_new(&rc) || memory_open(&m, rc.pd, BY_POINTER))
		return 1;
	window = (struct window){ .id = rc.id, .at = m.at, .rkey = m.mr->rkey };
	if (write(out, &window, sizeof(window)) != sizeof(window) || read(in, &to, sizeof(to)) != sizeof(to))
		return 1;
	if (rc_connect_hastily(&rc, &to) || write(out, "", 1) != 1)
		return 1;
	receive_for_ever(&m, &rc);
	return 0;
}

static int child_start(struct child *c, struct window *window)
{
	char in[12], out[12];
	int down[2], up[2];

	if (pipe(down) || pipe(up))
		return -errno;
	c->pid = fork();
	if (!c->pid) {
		snprintf(in, sizeof(in), "%d", down[0]);
		snprintf(out, sizeof(out), "%d", up[1]);
		setenv("BE_KILLED", "yes", 1);
		execl("/proc/self/exe", "t_rdma_order", in, out, NULL);
		_exit(1);
	}
	close(down[0]);
	close(up[1]);
	c->in = up[0];
	c->out = down[1];
	return read(c->in, window, sizeof(*window)) == sizeof(*window) ? 0 : -EPIPE;
}

static int child_connect(struct child *c, const struct window *window)
{
	char byte;
	int err = rc_new(&loop.near) ?: rc_connect_hastily(&loop.near, &window->id);

	if (err)
		return err;
	if (write(c->out, &loop.near.id, sizeof(loop.near.id)) != sizeof(loop.near.id))
		return -EPIPE;
	return read(c->in, &byte, 1) == 1 ? 0 : -EPIPE;
}

static void kill_round(enum ibv_wr_opcode op, int round)
{
	struct window window;
	struct requester r;
	struct child c = { 0 };

	EXPECT(!child_start(&c, &window) && !child_connect(&c, &window), "round %d", round);
	EXPECT(!requester_start(&r, op, window.at, window.rkey), "thread");
	requester_delay(&r, round);
	kill(c.pid, SIGKILL);
	waitpid(c.pid, NULL, 0);
	close(c.in);
	close(c.out);
	next_owner_keeps_bytes(&r);
	CHECK_CASE();
	EXPECT(r.done && r.status > 0, "round %d: status %d after %u operations", round, r.status, r.done);
}

CASE(kill_ends_operations)
{
	static const enum ibv_wr_opcode ops[] = {
		IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_SEND,
	};
	size_t before, after, total;
	int round, op;

	OK(cuMemGetInfo(&before, &total));
	for (round = 0; round < rounds(); round++) {
		for (op = 0; op < 4; op++) {
			kill_round(ops[op], round);
			CHECK_CASE();
		}
	}
	OK(cuMemGetInfo(&after, &total));
	EXPECT(before == after, "%zu bytes of the GPU's memory are lost", before - after);
}

int main(int argc, char **argv)
{
	if (getenv("BE_KILLED"))
		return be_killed(atoi(argv[1]), atoi(argv[2]));
	return argc ? vmtest_main(argv + 1) : 1;
}
