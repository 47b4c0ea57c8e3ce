/* SPDX-License-Identifier: MIT */
/*
 * An adapter and a reliable connection to another adapter, by libibverbs alone. Functions return 0
 * or -errno, unless their comment says otherwise.
 */
#ifndef TEST_RC_H
#define TEST_RC_H

#include <errno.h>
#include <infiniband/verbs.h>
#include <stdint.h>
#include <string.h>

/** struct rc_id - address of one end, sent unchanged to the other end */
struct rc_id {
	union ibv_gid gid;
	uint32_t qpn;
};

struct rc {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	int gid_index;
	struct rc_id id;
};

/* Find the GID of an IPv4 address. Its index differs between kernels. */
static inline int rc_find_gid(struct rc *rc)
{
	static const uint8_t ipv4[12] = { [10] = 0xff, [11] = 0xff };

	for (rc->gid_index = 0; !ibv_query_gid(rc->ctx, 1, rc->gid_index, &rc->id.gid); rc->gid_index++)
		if (!memcmp(rc->id.gid.raw, ipv4, sizeof(ipv4)))
			return 0;
	return -EADDRNOTAVAIL;
}

/* Open the first adapter. */
static inline int rc_open(struct rc *rc)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	*rc = (struct rc){ .ctx = list && *list ? ibv_open_device(*list) : NULL };
	if (list)
		ibv_free_device_list(list);
	if (!rc->ctx)
		return -ENODEV;
	rc->pd = ibv_alloc_pd(rc->ctx);
	rc->cq = ibv_create_cq(rc->ctx, 4, NULL, NULL, 0);
	return rc->pd && rc->cq ? rc_find_gid(rc) : -errno;
}

/* Make a new queue pair for a connection: an error may have ended the last queue pair. */
static inline int rc_new(struct rc *rc)
{
	struct ibv_qp_init_attr init = {
		.send_cq = rc->cq, .recv_cq = rc->cq, .qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 1, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	if (rc->qp)
		ibv_destroy_qp(rc->qp);
	rc->qp = ibv_create_qp(rc->pd, &init);
	if (!rc->qp)
		return -errno;
	rc->id.qpn = rc->qp->qp_num;
	return 0;
}

static inline int rc_to_init(struct rc *rc)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC,
	};

	return -ibv_modify_qp(rc->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

static inline int rc_to_receive(struct rc *rc, const struct rc_id *to)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .dest_qp_num = to->qpn,
		.max_dest_rd_atomic = 1, .min_rnr_timer = 12,
		.ah_attr = {
			.is_global = 1, .port_num = 1,
			.grh = { .dgid = to->gid, .sgid_index = (uint8_t)rc->gid_index, .hop_limit = 64 },
		},
	};

	return -ibv_modify_qp(rc->qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			      IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
}

/* The retry timeout is 4.096 us << @timeout. A send waits for a receive without a limit (7). */
static inline int rc_to_send(struct rc *rc, uint8_t timeout, uint8_t retries)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS, .timeout = timeout, .retry_cnt = retries, .rnr_retry = 7,
		.max_rd_atomic = 1 };

	return -ibv_modify_qp(rc->qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			      IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

/* To an end that may disappear: a transfer without answer fails after about a second. */
static inline int rc_connect_hastily(struct rc *rc, const struct rc_id *to)
{
	return rc_to_init(rc) ?: rc_to_receive(rc, to) ?: rc_to_send(rc, 16, 3);
}

/* The retry timeout is 1 s, because VMs are slow. */
static inline int rc_connect(struct rc *rc, const struct rc_id *to)
{
	return rc_to_init(rc) ?: rc_to_receive(rc, to) ?: rc_to_send(rc, 18, 7);
}

/* Transfer @length bytes. Returns enum ibv_wc_status; -1: posting or polling failed. */
static inline int rc_transfer(struct rc *rc, enum ibv_wr_opcode how, const struct ibv_mr *mr, uint64_t local,
			      uint64_t remote, uint32_t rkey, uint32_t length)
{
	struct ibv_sge sge = { .addr = local, .length = length, .lkey = mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.opcode = how, .sg_list = &sge, .num_sge = 1, .send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { .remote_addr = remote, .rkey = rkey },
	};
	struct ibv_wc wc;
	int n;

	if (ibv_post_send(rc->qp, &wr, &bad))
		return -1;
	do
		n = ibv_poll_cq(rc->cq, 1, &wc);
	while (!n);
	return n < 0 ? -1 : (int)wc.status;
}

#endif
