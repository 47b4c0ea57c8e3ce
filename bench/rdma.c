// SPDX-License-Identifier: MIT
/*
 * The time of an RDMA operation between GPU surfaces, and between host memory, on the emulated adapter. The
 * adapter is connected with itself. The kinds of memory take turns, so that other load disturbs all of them.
 */
#include "bench.h"
#include "test/vm/rdma/rdma.h"

enum { SMALL = 64 << 10, LARGE = 8 << 20, ROUNDS = 15 };

enum kind { POINTER, DMABUF, HOST, KINDS };

static const enum way ways[HOST] = { BY_POINTER, BY_CUDA_DMABUF };
static const char *const names[KINDS] = { "by pointer", "by dma-buf", "host memory" };

/** struct side - memory of one end of the connection */
struct side {
	uintptr_t at;
	struct ibv_mr *mr;
};

static struct loop loop;
static struct side from[KINDS], to[KINDS];

static void open_host(struct side *s)
{
	s->at = (uintptr_t)aligned_alloc(4096, LARGE);
	bench_need(s->at != 0, "host memory", ENOMEM);
	memset((void *)s->at, 1, LARGE);
	s->mr = ibv_reg_mr(loop.near.pd, (void *)s->at, LARGE, ACCESS);
	bench_need(s->mr != NULL, "ibv_reg_mr of host memory", errno);
}

static void open_gpu(struct side *s, enum way way)
{
	struct memory m = { 0 };
	int ret;

	bench_need(!cuMemAlloc(&m.at, LARGE), "cuMemAlloc", ENOMEM);
	ret = memory_register(&m, loop.near.pd, way, 0, LARGE);
	bench_need(!ret, "registration of GPU memory", ret);
	*s = (struct side){ m.at, m.mr };
}

CASE(there_is_an_adapter)
{
	int kind;

	bench_need(cu_start(0) != NULL, "CUDA", ENODEV);
	bench_need(!loop_open(&loop), "RDMA adapter", ENODEV);
	for (kind = 0; kind < HOST; kind++) {
		open_gpu(&from[kind], ways[kind]);
		open_gpu(&to[kind], ways[kind]);
	}
	open_host(&from[HOST]);
	open_host(&to[HOST]);
}

static uint64_t run(enum kind kind, enum ibv_wr_opcode op, uint32_t length, int count)
{
	uint64_t start = now_ns();
	int i, status;

	for (i = 0; i < count; i++) {
		status = rc_transfer(&loop.near, op, from[kind].mr, from[kind].at, to[kind].at, to[kind].mr->rkey, length);
		bench_need(!status, "RDMA operation", EIO);
	}
	return (now_ns() - start) / count;
}

static void compare(const char *what, enum ibv_wr_opcode op, uint32_t length, int count)
{
	uint64_t ns[KINDS][ROUNDS], median[KINDS];
	int i, kind;

	for (i = 0; i < ROUNDS; i++)
		for (kind = 0; kind < KINDS; kind++)
			ns[kind][i] = run(kind, op, length, count);
	for (kind = 0; kind < KINDS; kind++)
		median[kind] = bench_median(ns[kind], ROUNDS);
	for (kind = 0; kind < HOST; kind++)
		CLAIM(.what = what, .of = names[kind], .ours = median[kind], .beside = names[HOST],
		      .theirs = median[HOST], .times = 1.2);
}

CASE(gpu_memory_is_written_as_fast)
{
	compare("RDMA write of 64 KiB of GPU memory", IBV_WR_RDMA_WRITE, SMALL, 16);
	compare("RDMA write of 8 MiB of GPU memory", IBV_WR_RDMA_WRITE, LARGE, 1);
}

CASE(gpu_memory_is_read_as_fast)
{
	compare("RDMA read of 64 KiB of GPU memory", IBV_WR_RDMA_READ, SMALL, 16);
	compare("RDMA read of 8 MiB of GPU memory", IBV_WR_RDMA_READ, LARGE, 1);
}

VMTEST_MAIN
