/* SPDX-License-Identifier: MIT */
/*
 * GPU memory and the emulated RDMA adapter, by libibverbs alone. A loop is a connection of the adapter
 * with itself: its first end requests, its second end responds.
 */
#ifndef TEST_RDMA_H
#define TEST_RDMA_H

#include <libpeerpin.h>
#include <stdlib.h>
#include <unistd.h>

#include "test/vm/cuda/cu.h"
#include "test/vm/verbs/rc.h"

enum {
	ACCESS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC,
	BLOCK = 2 << 20,
};

enum way {
	BY_POINTER,		/* ibv_reg_mr(): a peer-memory client */
	BY_CUDA_DMABUF,
	BY_REGION_DMABUF,
	WAYS,
};

/** struct memory - GPU memory and its MR; @region.id: 0 if there is none */
struct memory {
	CUdeviceptr at;
	struct ibv_mr *mr;
	struct pp_region region;
};

struct loop {
	struct rc near, far;
};

static struct pp_ctx *peerpin;

static inline int loop_connect(struct loop *l)
{
	int err = rc_new(&l->near) ?: rc_new(&l->far);

	return err ?: rc_connect(&l->near, &l->far.id) ?: rc_connect(&l->far, &l->near.id);
}

static inline int loop_open(struct loop *l)
{
	int err = rc_open(&l->near);

	if (err)
		return err;
	l->far = l->near;
	l->far.cq = ibv_create_cq(l->far.ctx, 16, NULL, NULL, 0);
	return l->far.cq ? loop_connect(l) : -errno;
}

/* ---- memory: calls return 0 or -errno ---------------------------------------------- */

static inline int memory_dmabuf(struct memory *m, enum way way, size_t offset, size_t length)
{
	int fd = -1, err;

	if (way == BY_CUDA_DMABUF)
		return cuMemGetHandleForAddressRange(&fd, m->at + offset, length, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0) ?
			-EIO : fd;
	err = pp_pin(peerpin, (void *)m->at, BLOCK, &m->region, NULL);
	if (!err)
		err = pp_region_export(peerpin, &m->region, m->at - m->region.addr + offset, length, &fd);
	return err ?: fd;
}

/* Part of the memory, registered at its own address */
static inline int memory_register(struct memory *m, struct ibv_pd *pd, enum way way, size_t offset, size_t length)
{
	int fd;

	if (way == BY_POINTER) {
		m->mr = ibv_reg_mr(pd, (void *)(m->at + offset), length, ACCESS);
		return m->mr ? 0 : -errno;
	}
	fd = memory_dmabuf(m, way, offset, length);
	if (fd < 0)
		return fd;
	m->mr = ibv_reg_dmabuf_mr(pd, 0, length, m->at + offset, fd, ACCESS);
	close(fd);
	return m->mr ? 0 : -errno;
}

static inline int memory_open(struct memory *m, struct ibv_pd *pd, enum way way)
{
	*m = (struct memory){ 0 };
	if (cuMemAlloc(&m->at, BLOCK))
		return -ENOMEM;
	return memory_register(m, pd, way, 0, BLOCK);
}

static inline int memory_close(struct memory *m)
{
	int err = m->mr ? -ibv_dereg_mr(m->mr) : 0;

	if (!err && m->region.id)
		err = pp_unpin(peerpin, &m->region);
	if (m->at && cuMemFree(m->at))
		err = -EIO;
	*m = (struct memory){ 0 };
	return err;
}

/* The region ends with the memory; the MR stays. */
static inline int memory_free(struct memory *m)
{
	CUdeviceptr at = m->at;

	m->at = 0;
	m->region.id = 0;
	return cuMemFree(at) ? -EIO : 0;
}

/* ---- operations: enum ibv_wc_status, or -1 ------------------------------------------ */

static inline int loop_do(struct loop *l, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;
	struct ibv_wc wc;
	int n;

	wr->send_flags = IBV_SEND_SIGNALED;
	if (ibv_post_send(l->near.qp, wr, &bad))
		return -1;
	do
		n = ibv_poll_cq(l->near.cq, 1, &wc);
	while (!n);
	return n < 0 ? -1 : (int)wc.status;
}

static inline int loop_atomic(struct loop *l, struct ibv_mr *result, uint64_t remote, uint32_t rkey,
			      enum ibv_wr_opcode op, uint64_t compare_add, uint64_t swap)
{
	struct ibv_sge sge = { .addr = (uintptr_t)result->addr, .length = 8, .lkey = result->lkey };
	struct ibv_send_wr wr = {
		.opcode = op, .sg_list = &sge, .num_sge = 1,
		.wr.atomic = { .remote_addr = remote, .compare_add = compare_add, .swap = swap, .rkey = rkey },
	};

	return loop_do(l, &wr);
}

/* A send into @to; the receiver's status is in @received */
static inline int loop_send(struct loop *l, const struct ibv_mr *from, uint64_t at, const struct ibv_mr *to,
			    uint64_t into, uint32_t length, int *received)
{
	struct ibv_sge sge = { .addr = at, .length = length, .lkey = from->lkey };
	struct ibv_sge to_sge = { .addr = into, .length = length, .lkey = to->lkey };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .sg_list = &sge, .num_sge = 1 };
	struct ibv_recv_wr *bad, recv = { .sg_list = &to_sge, .num_sge = 1 };
	int status;
	struct ibv_wc wc;

	if (ibv_post_recv(l->far.qp, &recv, &bad))
		return -1;
	status = loop_do(l, &wr);
	*received = -1;
	if (status >= 0) {
		while (!ibv_poll_cq(l->far.cq, 1, &wc))
			;
		*received = wc.status;
	}
	return status;
}

#endif
