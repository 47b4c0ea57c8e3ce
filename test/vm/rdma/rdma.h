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
#include "test/vm/harness/module.h"
#include "test/vm/verbs/rc.h"

enum {
	ACCESS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC,
	BLOCK = 2 << 20,
};

/* Ways to register. An MR of the first ENDING_WAYS ends when its memory is freed. */
enum way {
	BY_POINTER,		/* ibv_reg_mr(): a peer-memory client */
	BY_REGION_DMABUF,
	BY_DYNAMIC_DMABUF,	/* of CUDA; dmabuf_dynamic=1 */
	BY_PINNED_DMABUF,	/* as before, and pin_dmabuf=1 */
	ENDING_WAYS,
	BY_CUDA_DMABUF = ENDING_WAYS,
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

/* Of most tests: a connection, and the MR of @bytes */
static struct loop loop;
static struct ibv_mr *host;
static unsigned char bytes[BLOCK], back[BLOCK];

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
	if (way != BY_REGION_DMABUF) {
		module_set("emugpu/parameters/dmabuf_dynamic", "1");
		fd = memory_dmabuf(m, BY_CUDA_DMABUF, offset, length);
		module_set("emugpu/parameters/dmabuf_dynamic", "0");
		return fd;
	}
	err = pp_pin(peerpin, (void *)m->at, BLOCK, &m->region, NULL);
	if (!err)
		err = pp_region_export(peerpin, &m->region, m->at - m->region.addr + offset, length, &fd);
	return err ?: fd;
}

/* @pinned: the adapter pins the dma-buf. */
static inline struct ibv_mr *dmabuf_register(struct ibv_pd *pd, int fd, size_t length, uint64_t iova, bool pinned)
{
	struct ibv_mr *mr;

	if (pinned)
		module_set("emurdma/parameters/pin_dmabuf", "1");
	mr = ibv_reg_dmabuf_mr(pd, 0, length, iova, fd, ACCESS);
	if (pinned)
		module_set("emurdma/parameters/pin_dmabuf", "0");
	return mr;
}

/* Part of the memory, registered at its own address */
static inline int memory_register(struct memory *m, struct ibv_pd *pd, enum way way, size_t offset, size_t length)
{
	int fd, err;

	if (way == BY_POINTER) {
		m->mr = ibv_reg_mr(pd, (void *)(m->at + offset), length, ACCESS);
		return m->mr ? 0 : -errno;
	}
	fd = memory_dmabuf(m, way, offset, length);
	if (fd < 0)
		return fd;
	m->mr = dmabuf_register(pd, fd, length, m->at + offset, way == BY_PINNED_DMABUF);
	err = m->mr ? 0 : -errno;
	close(fd);
	return err;
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

/* The next owner of freed memory, with bytes that must not change. Return: its address; 0: failure */
static inline CUdeviceptr owner_new(void)
{
	CUdeviceptr at;

	if (cuMemAlloc(&at, BLOCK) || cuMemsetD8(at, 0x5a, BLOCK) || cuCtxSynchronize())
		return 0;
	return at;
}

/* Whether @back has the owner's bytes */
static inline bool back_is_kept(void)
{
	return back[0] == 0x5a && !memcmp(back, back + 1, BLOCK - 1);
}

/* Whether no byte has changed. Frees the memory. */
static inline bool owner_keeps(CUdeviceptr at)
{
	return !cuMemcpyDtoH(back, at, BLOCK) && back_is_kept() && !cuMemFree(at);
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

/* Ends the receives that wait, so that each has a completion. */
static inline int loop_flush(struct loop *l)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	return -ibv_modify_qp(l->far.qp, &attr, IBV_QP_STATE);
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
	if (status && loop_flush(l))
		return -1;
	while (!ibv_poll_cq(l->far.cq, 1, &wc))
		;
	*received = wc.status;
	return status;
}

/* ---- the start of most tests ---------------------------------------------------------- */

static inline void loop_start(void)
{
	EXPECT(!pp_open(&peerpin), "no /dev/peerpin");
	EXPECT(!loop_open(&loop), "no adapter, or no connection");
	host = ibv_reg_mr(loop.near.pd, bytes, sizeof(bytes), ACCESS);
	EXPECT(host, "ibv_reg_mr of host memory: %d", errno);
}

static inline void loop_drain(struct ibv_cq *cq)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(cq, 1, &wc) > 0)
		;
}

/* Replace the connection that an error has ended. Operations of the new one fail after a second without an answer. */
static inline int loop_restart(void)
{
	int err = rc_new(&loop.near) ?: rc_new(&loop.far);

	loop_drain(loop.near.cq);
	loop_drain(loop.far.cq);
	return err ?: rc_connect_hastily(&loop.near, &loop.far.id) ?: rc_connect_hastily(&loop.far, &loop.near.id);
}

#endif
