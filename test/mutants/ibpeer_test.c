// SPDX-License-Identifier: MIT
/*
 * A test of an InfiniBand peer-memory client: the RDMA adapter writes and reads GPU memory that
 * ibv_reg_mr() registered. Exit status 0: passed; 2: wrong data; 1: another failure.
 */
#include "gpu.h"
#include "test/vm/verbs/rc.h"

enum {
	PAGE = 4096,
	SIZE = 2 * MIB,	/* the free of a smaller allocation revokes no pin */
	AT = 20 * KIB + 8,	/* offset of an MR in its memory */
	LENGTH = 200 * KIB,
	ACCESS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE,
};

/* A connection of the adapter with itself: @near requests, @far responds. */
static struct rc near, far;

static void connect_loop(void)
{
	NEED(!rc_new(&near));
	NEED(!rc_new(&far));
	NEED(!rc_connect(&near, &far.id));
	NEED(!rc_connect(&far, &near.id));
}

static void open_loop(void)
{
	NEED(!rc_open(&near));
	far = near;
	NEED(far.cq = ibv_create_cq(far.ctx, 4, NULL, NULL, 0));
	connect_loop();
}

static struct ibv_mr *reg(const struct memory *m, size_t at, size_t length)
{
	struct ibv_mr *mr = ibv_reg_mr(near.pd, (void *)(m->va + at), length, ACCESS);

	NEED(mr);
	return mr;
}

static uint64_t address(const struct ibv_mr *mr)
{
	return (uintptr_t)mr->addr;
}

static int transfer(enum ibv_wr_opcode how, const struct ibv_mr *local, uint64_t from, const struct ibv_mr *remote,
		    uint64_t to, uint32_t length)
{
	return rc_transfer(&near, how, local, address(local) + from, address(remote) + to, remote->rkey, length);
}

/* RDMA write from @src to @dst, both registered from AT on, and RDMA read of other bytes back */
static void both_ways(struct memory *dst, const struct ibv_mr *to, struct memory *src, const struct ibv_mr *from)
{
	NEED(!transfer(IBV_WR_RDMA_WRITE, from, 3, to, 5, LENGTH - 8));
	memcpy(dst->model + AT + 5, src->model + AT + 3, LENGTH - 8);
	TRUE_DATA(memory_is_as_modelled(dst));
	NEED(!transfer(IBV_WR_RDMA_READ, from, PAGE - 1, to, 7 * PAGE + 1, 2 * PAGE + 2));
	memcpy(src->model + AT + PAGE - 1, dst->model + AT + 7 * PAGE + 1, 2 * PAGE + 2);
	TRUE_DATA(memory_is_as_modelled(src));
}

/* Deregister one of two MRs of the same memory: the other MR stays valid. */
static void two_of_one_memory(struct memory *dst, const struct ibv_mr *to, struct memory *src)
{
	struct ibv_mr *first = reg(src, 0, SIZE), *second = reg(src, AT, LENGTH);

	NEED(!ibv_dereg_mr(first));
	both_ways(dst, to, src, second);
	NEED(!ibv_dereg_mr(second));
}

/* The adapter must not reach freed memory, even if the GPU driver allocates the address again. */
static void freed(struct memory *other, const struct ibv_mr *from)
{
	struct memory m = memory_new(SIZE, 3);
	struct ibv_mr *mr = reg(&m, AT, LENGTH);

	both_ways(&m, mr, other, from);
	memory_free(&m);
	TRUE_DATA(transfer(IBV_WR_RDMA_WRITE, from, 0, mr, 0, PAGE));
	m = memory_new(SIZE, 4);
	connect_loop();
	TRUE_DATA(transfer(IBV_WR_RDMA_WRITE, from, 0, mr, 0, PAGE));
	TRUE_DATA(memory_is_as_modelled(&m));
	NEED(!ibv_dereg_mr(mr));
	memory_free(&m);
	NEED(!ibv_reg_mr(near.pd, (void *)m.va, SIZE, ACCESS));
	connect_loop();
}

int main(void)
{
	struct ibv_mr *from, *to;
	struct memory a, b;

	gpu_start();
	open_loop();
	a = memory_new(SIZE, 1);
	b = memory_new(SIZE, 2);
	from = reg(&a, AT, LENGTH);
	to = reg(&b, AT, LENGTH);
	both_ways(&b, to, &a, from);
	two_of_one_memory(&b, to, &a);
	freed(&a, from);
	both_ways(&b, to, &a, from);
	return 0;	/* exits with MRs left */
}
