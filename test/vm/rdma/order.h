/* SPDX-License-Identifier: MIT */
/*
 * A requester that repeats one operation, and the combinations of operation, way and side that an event
 * may hit. ROUNDS in the environment: rounds of each case; each round takes the next combination.
 */
#ifndef TEST_RDMA_ORDER_H
#define TEST_RDMA_ORDER_H

#include <pthread.h>
#include <stdatomic.h>

#include "rdma.h"
#include "test/vm/core/pin.h"
#include "test/vm/harness/emu.h"

enum {
	RECEIVES = 4,		/* that wait at the responder */
	DELAYS = 37,
	HANG_S = 60,
	OPS = 4,
	STRIDE = 7,		/* so that a few rounds differ in all respects */
};

static const enum ibv_wr_opcode ops[OPS] = {
	IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_SEND,
};

/* The side that has the GPU memory and meets the event; the other side has host memory. */
enum side { REQUESTER, RESPONDER, SIDES };

struct combination {
	enum ibv_wr_opcode op;
	enum way way;
	enum side side;
};

/* @ways: OPS * @ways * SIDES must have no factor STRIDE */
static inline struct combination combination(int round, int ways)
{
	int n = round * STRIDE;

	return (struct combination){ .op = ops[n % OPS], .way = n / OPS % ways, .side = n / OPS / ways % SIDES };
}

static inline int rounds(int without_environment)
{
	const char *set = getenv("ROUNDS");

	return set ? atoi(set) : vmtest_rounds(without_environment);
}

/* The bytes of an operation, except an atomic. A debug kernel is slow. */
static inline struct ibv_sge sge_of(const struct ibv_mr *mr)
{
	const uint32_t length = kernel_checks_itself() ? 32 << 10 : 256 << 10;

	return (struct ibv_sge){ .addr = (uintptr_t)mr->addr, .length = length, .lkey = mr->lkey };
}

/* ---- the responder's receives ------------------------------------------------------ */

static inline int receive_post(struct rc *rc, struct ibv_sge *to)
{
	struct ibv_recv_wr *bad, wr = { .sg_list = to, .num_sge = 1 };

	return -ibv_post_recv(rc->qp, &wr, &bad);
}

static inline int receives_post(struct rc *rc, struct ibv_sge *to)
{
	int i, err = 0;

	for (i = 0; i < RECEIVES && !err; i++)
		err = receive_post(rc, to);
	return err;
}

/* Replace what was received, for a moment. */
static inline void receives_serve(struct rc *rc, struct ibv_sge *to)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(rc->cq, 1, &wc) > 0)
		if (!wc.status)
			receive_post(rc, to);
	usleep(100);
}

/* ---- the requester ---------------------------------------------------------------- */

/**
 * struct requester - a thread that repeats one operation until it fails
 * @posting: held to post, and to change @stopped
 * @stopped: posts no more, and waits for nothing
 * @first_ns: duration of the first operation
 */
struct requester {
	struct rc *rc;
	enum ibv_wr_opcode op;
	struct ibv_sge local;
	uint64_t remote;
	uint32_t rkey;
	pthread_t thread;
	pthread_mutex_t posting;
	atomic_bool stopped;
	uint64_t first_ns;
	atomic_uint done;
	atomic_int status;
};

static inline int request_post(struct requester *r)
{
	struct ibv_send_wr *bad, wr = {
		.opcode = r->op, .sg_list = &r->local, .num_sge = 1, .send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { .remote_addr = r->remote, .rkey = r->rkey },
	};

	if (r->op == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		r->local.length = 8;
		wr.wr.atomic.remote_addr = r->remote;
		wr.wr.atomic.compare_add = 1;
		wr.wr.atomic.rkey = r->rkey;
	}
	return ibv_post_send(r->rc->qp, &wr, &bad) ? -1 : 0;
}

static inline bool requester_post(struct requester *r)
{
	pthread_mutex_lock(&r->posting);
	if (!r->stopped)
		r->status = request_post(r);
	pthread_mutex_unlock(&r->posting);
	return !r->stopped && !r->status;
}

static inline void *requester_run(void *arg)
{
	struct requester *r = arg;
	uint64_t start = now_ns();
	struct ibv_wc wc;
	int n;

	while (requester_post(r)) {
		do
			n = ibv_poll_cq(r->rc->cq, 1, &wc);
		while (!n && !r->stopped);
		if (n)
			r->status = n < 0 ? -1 : (int)wc.status;
		if (!n || r->status)
			break;
		if (!r->done)
			r->first_ns = now_ns() - start;
		r->done++;
	}
	return NULL;
}

static inline int requester_start(struct requester *r, struct rc *rc, enum ibv_wr_opcode op, struct ibv_sge local,
				  uint64_t remote, uint32_t rkey)
{
	*r = (struct requester){ .rc = rc, .op = op, .local = local, .remote = remote, .rkey = rkey,
				 .posting = PTHREAD_MUTEX_INITIALIZER };
	return pthread_create(&r->thread, NULL, requester_run, r);
}

/* An operation that was posted is still in progress, most likely. */
static inline void requester_stop(struct requester *r)
{
	pthread_mutex_lock(&r->posting);
	r->stopped = true;
	pthread_mutex_unlock(&r->posting);
}

/* The responder, if there is one, serves until the requester has an error. Return: false: the requester hangs */
static inline bool requester_end(struct requester *r, struct rc *responder, struct ibv_sge *to)
{
	uint64_t end = now_ns() + HANG_S * 1000000000ull;
	bool hangs;

	while (!r->stopped && !r->status && now_ns() < end) {
		if (responder->qp)
			receives_serve(responder, to);
		else
			usleep(1000);
	}
	hangs = !r->stopped && !r->status;
	if (hangs)
		requester_stop(r);
	pthread_join(r->thread, NULL);
	return !hangs;
}

/* The responder serves until a moment of an operation that differs in each round. */
static inline void serve_until(struct rc *responder, struct ibv_sge *to, uint64_t first_ns, int round)
{
	uint64_t end = now_ns() + first_ns * 2 * (unsigned int)(round % DELAYS) / DELAYS;

	while (now_ns() < end)
		receives_serve(responder, to);
}

#endif
