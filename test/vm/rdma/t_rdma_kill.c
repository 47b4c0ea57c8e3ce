// SPDX-License-Identifier: MIT
/*
 * A process is killed during operations: the requester or the responder, which has the GPU memory. Its
 * parent is the other end. The next owner of the memory keeps its bytes.
 */
#include <signal.h>

#include "order.h"

SETUP(adapter_is_there)
{
	EXPECT(cu_start(0), "no GPU");
	loop_start();
}

/** struct window - what a process tells of its end */
struct window {
	struct rc_id id;
	uint64_t at;
	uint32_t rkey;
};

static struct window window_of(const struct rc *rc, const struct ibv_mr *mr)
{
	return (struct window){ .id = rc->id, .at = (uintptr_t)mr->addr, .rkey = mr->rkey };
}

/* ---- the child -------------------------------------------------------------------- */

/* Another program: it has its own context of CUDA and of the adapter. */
static int child_open(struct rc *rc, struct memory *m, enum way way)
{
	if (!cu_start(0) || pp_open(&peerpin))
		return -ENODEV;
	return rc_open(rc) ?: rc_new(rc) ?: memory_open(m, rc->pd, way);
}

static int child_connect(struct rc *rc, const struct memory *m, int in, int out, struct window *other)
{
	struct window own = window_of(rc, m->mr);

	if (write(out, &own, sizeof(own)) != sizeof(own) || read(in, other, sizeof(*other)) != sizeof(*other))
		return -EPIPE;
	return rc_connect_hastily(rc, &other->id);
}

/* Tell the duration of an operation, then go on until the kill. Return: the requester got an error */
static int child_request(struct rc *rc, enum ibv_wr_opcode op, struct ibv_sge sge, const struct window *to, int out)
{
	struct requester r;

	if (requester_start(&r, rc, op, sge, to->at, to->rkey))
		return 1;
	while (!r.done && !r.status)
		usleep(100);
	if (write(out, &r.first_ns, sizeof(r.first_ns)) != sizeof(r.first_ns))
		return 1;
	pthread_join(r.thread, NULL);
	return 1;
}

static int child_respond(struct rc *rc, struct ibv_sge sge, int out)
{
	uint64_t unknown = 0;

	if (receives_post(rc, &sge) || write(out, &unknown, sizeof(unknown)) != sizeof(unknown))
		return 1;
	for (;;)
		receives_serve(rc, &sge);
}

static int be_killed(const struct combination *c, int in, int out)
{
	struct window other;
	struct memory m;
	struct rc rc;

	if (child_open(&rc, &m, c->way) || child_connect(&rc, &m, in, out, &other))
		return 1;
	return c->side == REQUESTER ? child_request(&rc, c->op, sge_of(m.mr), &other, out) : child_respond(&rc, sge_of(m.mr), out);
}

/* ---- its parent --------------------------------------------------------------------- */

struct child {
	pid_t pid;
	int in, out;
	struct window window;
	uint64_t first_ns;	/* of the requester's first operation */
};

static void child_exec(const struct combination *c, int in, int out)
{
	char text[64];

	snprintf(text, sizeof(text), "%d %d %d %d %d", c->op, c->way, c->side, in, out);
	setenv("BE_KILLED", text, 1);
	execl("/proc/self/exe", "t_rdma_kill", NULL);
	_exit(1);
}

static int child_start(struct child *child, const struct combination *c)
{
	int down[2], up[2];

	if (pipe(down) || pipe(up))
		return -errno;
	child->pid = fork();
	if (!child->pid)
		child_exec(c, down[0], up[1]);
	close(down[0]);
	close(up[1]);
	child->in = up[0];
	child->out = down[1];
	return read(child->in, &child->window, sizeof(child->window)) == sizeof(child->window) ? 0 : -EPIPE;
}

/* The parent's end is ready when the child learns of it. */
static int child_meet(struct child *child, struct rc *rc, struct ibv_sge *to)
{
	struct window own;
	int err = rc_new(rc);

	loop_drain(rc->cq);
	err = err ?: rc_connect_hastily(rc, &child->window.id) ?: receives_post(rc, to);
	if (err)
		return err;
	own = window_of(rc, host);
	if (write(child->out, &own, sizeof(own)) != sizeof(own))
		return -EPIPE;
	return read(child->in, &child->first_ns, sizeof(child->first_ns)) == sizeof(child->first_ns) ? 0 : -EPIPE;
}

static bool child_kill(struct child *child)
{
	int status = 0;

	kill(child->pid, SIGKILL);
	waitpid(child->pid, &status, 0);
	close(child->in);
	close(child->out);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

static void kill_requester(struct child *child, int round)
{
	struct ibv_sge to = sge_of(host);
	CUdeviceptr next;

	EXPECT(!child_meet(child, &loop.far, &to), "connection");
	serve_until(&loop.far, &to, child->first_ns, round);
	EXPECT(child_kill(child), "the requester has ended before");
	next = owner_new();
	EXPECT(next && owner_keeps(next), "the next owner's bytes have changed");
}

static void kill_responder(struct child *child, enum ibv_wr_opcode op, int round)
{
	struct ibv_sge to = sge_of(host);
	struct rc none = { 0 };
	struct requester r;
	CUdeviceptr next;

	EXPECT(!child_meet(child, &loop.near, &to), "connection");
	EXPECT(!requester_start(&r, &loop.near, op, to, child->window.at, child->window.rkey), "thread");
	while (!r.done && !r.status)
		usleep(100);
	usleep((unsigned int)(r.first_ns * 2 * (unsigned int)(round % DELAYS) / DELAYS / 1000));
	EXPECT(child_kill(child), "the responder has ended before");
	next = owner_new();
	EXPECT(requester_end(&r, &none, NULL), "the requester hangs");
	EXPECT(next && owner_keeps(next), "the next owner's bytes have changed");
	EXPECT(r.done && r.status > 0, "status %d after %u operations", r.status, r.done);
}

static void kill_round(const struct combination *c, int round)
{
	struct child child;

	EXPECT(!child_start(&child, c), "child");
	if (c->side == REQUESTER)
		kill_requester(&child, round);
	else
		kill_responder(&child, c->op, round);
}

CASE(kill_ends_operations)
{
	size_t before, after, total;
	struct combination c;
	int round;

	OK(cuMemGetInfo(&before, &total));
	for (round = 0; round < rounds(OPS * WAYS * SIDES / 2); round++) {
		c = combination(round, WAYS);
		kill_round(&c, round);
		if (vmtest_result != VMTEST_OK)
			printf("# round %d: operation %d, way %d, side %d\n", round, c.op, c.way, c.side);
		CHECK_CASE();
	}
	OK(cuMemGetInfo(&after, &total));
	EXPECT(before == after, "%zu bytes of the GPU's memory are lost", before - after);
}

int main(int argc, char **argv)
{
	const char *killed = getenv("BE_KILLED");
	struct combination c;
	int in, out;

	if (killed && sscanf(killed, "%d %d %d %d %d", (int *)&c.op, (int *)&c.way, (int *)&c.side, &in, &out) == 5)
		return be_killed(&c, in, out);
	return argc ? vmtest_main(argv + 1) : 1;
}
