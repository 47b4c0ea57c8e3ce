// SPDX-License-Identifier: MIT
/*
 * RDMA write and read between any two kinds of memory of two machines. To measure the rate, several requests are in
 * flight; to measure the latency, one. A request has ended when its completion was polled.
 */
#include "link.h"
#include "serve.h"

enum {
	HERE_GPU = 1,
	THERE_GPU = 2,
	READS = 4,
	ONE_BY_ONE = 8,
	IN_FLIGHT = 4 << 20,	/* bytes, at most LINK_DEPTH requests, at least one */
	LARGEST = 1 << 30,	/* bytes of a request */
	POLLS = 1 << 16,	/* between two looks at the TCP connection */
};

/**
 * struct measured - @connected: @link is connected; @gone: why no connection could be made, or ""; @open: the other
 * machine has allocated memory; @at, @rkey: address and key of that memory
 */
static struct {
	struct link link;
	bool connected;
	struct perf_why gone;
	uint64_t at;
	uint32_t rkey;
	bool open;
} measured = { .link = { .tcp = -1 } };

void perf_end_rdma(void)
{
	if (measured.connected)
		link_close(&measured.link);
	measured.connected = false;
}

/* Tries only once to reach a machine, because each connection to a dead machine takes half a minute to fail. */
static int open_rdma(const struct perf_args *args, long arg, struct perf_why *why)
{
	(void)arg;
	if (!args->host)
		return perf_refuse(why, "no second machine was named: there type peerpin perf --serve, and here peerpin perf HOST");
	if (measured.connected)
		return 0;
	if (*measured.gone.at || link_connect(&measured.link, args, &measured.gone))
		return perf_refuse(why, "%s", measured.gone.at);
	measured.connected = true;
	return 0;
}

static int begin(uint64_t bytes, long arg, struct perf_why *why)
{
	struct link_answer answer;

	if (bytes > LARGEST)
		return perf_refuse(why, "a request of RDMA has at most 1 GiB");
	if (link_register(&measured.link, arg & HERE_GPU ? PERF_GPU : PERF_HOST, bytes, why))
		return -1;
	if (link_ask(&measured.link, LINK_OPEN, arg & THERE_GPU ? PERF_GPU : PERF_HOST, bytes, &answer, why))
		return -1;
	measured.open = true;
	measured.at = be64toh(answer.at);
	measured.rkey = (uint32_t)be64toh(answer.rkey);
	return 0;
}

static void end(long arg)
{
	struct link_answer answer;
	struct perf_why unused;

	(void)arg;
	if (measured.open)
		link_ask(&measured.link, LINK_CLOSE, PERF_HOST, 0, &answer, &unused);
	measured.open = false;
	link_unregister(&measured.link);
}

/* ---- requests -------------------------------------------------------------------------------- */

static unsigned int in_flight(uint64_t bytes, long arg)
{
	uint64_t n = IN_FLIGHT / bytes;

	if (arg & ONE_BY_ONE || n < 1)
		return 1;
	return n < LINK_DEPTH ? (unsigned int)n : LINK_DEPTH;
}

static int post(uint64_t bytes, long arg)
{
	struct ibv_sge sge = {
		.addr = measured.link.memory.at, .length = (uint32_t)bytes, .lkey = measured.link.mr->mr->lkey,
	};
	struct ibv_send_wr *bad, wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = arg & READS ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { .remote_addr = measured.at, .rkey = measured.rkey },
	};

	return ibv_post_send(measured.link.id->qp, &wr, &bad);
}

/* An error ends the connection. The next operation makes a new connection. */
static int broken(struct perf_why *why, const char *what)
{
	perf_refuse(why, "RDMA failed: %s", what);
	measured.open = false;
	measured.link.broken = true;
	perf_end_rdma();
	return -1;
}

static int transfer(uint64_t bytes, long arg, struct perf_why *why)
{
	unsigned int n = in_flight(bytes, arg), polls = 0, i;
	struct ibv_wc wc;

	for (i = 0; i < n; i++)
		if (post(bytes, arg))
			return broken(why, "ibv_post_send");
	for (i = 0; i < n; i++) {
		while (!ibv_poll_cq(measured.link.id->send_cq, 1, &wc))
			if (!(++polls % POLLS) && link_has_ended(&measured.link))
				return broken(why, "the other machine has closed the connection, or is dead");
		if (wc.status != IBV_WC_SUCCESS)
			return broken(why, net.status_text(wc.status));
	}
	return 0;
}

static const struct perf_calls rdma_calls = {
	.open = open_rdma, .begin = begin, .run = transfer, .times = in_flight, .end = end,
};

#define ROW(name, title, beside, arg) { name, "rdma", title, beside, true, &rdma_calls, arg }

const struct perf_op rdma_ops[] = {
	ROW("latency_hh", "RDMA write, one by one: host to host", NULL, ONE_BY_ONE),
	ROW("latency_hg", "RDMA write, one by one: host to GPU", "latency_hh", ONE_BY_ONE | THERE_GPU),
	ROW("latency_gh", "RDMA write, one by one: GPU to host", "latency_hh", ONE_BY_ONE | HERE_GPU),
	ROW("latency_gg", "RDMA write, one by one: GPU to GPU", "latency_hh", ONE_BY_ONE | HERE_GPU | THERE_GPU),
	ROW("write_hh", "RDMA write: host to host", NULL, 0),
	ROW("write_hg", "RDMA write: host to GPU", "write_hh", THERE_GPU),
	ROW("write_gh", "RDMA write: GPU to host", "write_hh", HERE_GPU),
	ROW("write_gg", "RDMA write: GPU to GPU", "write_hh", HERE_GPU | THERE_GPU),
	ROW("read_hh", "RDMA read: host from host", NULL, READS),
	ROW("read_hg", "RDMA read: host from GPU", "read_hh", READS | THERE_GPU),
	ROW("read_gh", "RDMA read: GPU from host", "read_hh", READS | HERE_GPU),
	ROW("read_gg", "RDMA read: GPU from GPU", "read_hh", READS | HERE_GPU | THERE_GPU),
	{ 0 },
};
