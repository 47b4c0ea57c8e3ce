// SPDX-License-Identifier: MIT
/*
 * make demo-cluster: node 1 writes and reads GPU memory of node 2 by RDMA. Then node 2 frees the memory
 * while node 1 writes it.
 *
 * The nodes of emu/vm/cluster have NODE and NODE_ADDRESSES in the environment. Other nodes do nothing.
 */
#include <rdma/rdma_verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "link.h"
#include "memory.h"

enum {
	SIZE = 8 << 20,
	SMALL = 64 << 10,
	WORD = 8,
	SMALL_WRITES = 64,
	WORD_WRITES = 200,
	WRITES_MAX = 1000,
};

enum { OF_NODE_1 = 1, OF_NODE_2 = 1000003, OF_NEXT_OWNER = 2000003 };

/* ---- node 2 --------------------------------------------------------------------- */

static int serve_surface(struct surface *s, const struct request *request, struct link *l, struct answer *answer)
{
	switch (request->op) {
	case REQUEST_OPEN:
		if (surface_open(s, request->kind, request->size, l->id->pd))
			return -1;
		answer->at = s->at;
		answer->rkey = s->mr->rkey;
		return 0;
	case REQUEST_FILL:
		return surface_fill(s, request->seed);
	case REQUEST_CHECK:
		return surface_check(s, request->seed);
	case REQUEST_REPLACE:
		return surface_replace(s) ?: surface_fill(s, request->seed);
	case REQUEST_CLOSE:
		return surface_close(s);
	default:
		return -1;
	}
}

static int serve(struct link *l)
{
	struct surface surface;
	struct request request;
	struct answer answer;

	while (!link_next(l, &request)) {
		answer = (struct answer){ 0 };
		if (request.op == REQUEST_CONNECT)
			answer.status = link_accept(l);
		else if (request.op != REQUEST_END)
			answer.status = serve_surface(&surface, &request, l, &answer);
		if (link_answer(l, &answer))
			return -1;
		if (request.op == REQUEST_END)
			return 0;
	}
	return -1;
}

/* ---- node 1: transfers ------------------------------------------------------------ */

/** struct pair - a surface of this node, and the same of node 2 */
struct pair {
	struct link *link;
	struct surface here;
	struct answer there;
};

static int tell(struct pair *p, uint32_t op, uint64_t seed)
{
	const struct request request = { .op = op, .kind = p->here.kind, .size = SIZE, .seed = seed };

	return link_tell(p->link, &request);
}

static int ask(struct pair *p, uint32_t op, uint64_t seed)
{
	struct answer answer;

	if (tell(p, op, seed))
		return -1;
	if (link_wait(p->link, &answer)) {
		fprintf(stderr, "node 2 failed in step %u; its own lines say why\n", op);
		return -1;
	}
	if (op == REQUEST_OPEN)
		p->there = answer;
	return 0;
}

static enum ibv_wc_status transfer(struct pair *p, enum ibv_wr_opcode op, size_t length)
{
	struct ibv_sge sge = { .addr = p->here.at, .length = (uint32_t)length, .lkey = p->here.mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = op, .send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { .remote_addr = p->there.at, .rkey = p->there.rkey },
	};
	struct ibv_wc wc;

	if (ibv_post_send(p->link->id->qp, &wr, &bad))
		return IBV_WC_GENERAL_ERR;
	while (!ibv_poll_cq(p->link->id->send_cq, 1, &wc))
		;
	return wc.status;
}

static int transfer_well(struct pair *p, enum ibv_wr_opcode op, size_t length)
{
	enum ibv_wc_status status = transfer(p, op, length);

	if (status == IBV_WC_SUCCESS)
		return 0;
	fprintf(stderr, "%s: %s\n", op == IBV_WR_RDMA_READ ? "read" : "write", ibv_wc_status_str(status));
	return -1;
}

static int both_ways(struct pair *p)
{
	return surface_fill(&p->here, OF_NODE_1) ?: transfer_well(p, IBV_WR_RDMA_WRITE, SIZE) ?:
	       ask(p, REQUEST_CHECK, OF_NODE_1) ?: ask(p, REQUEST_FILL, OF_NODE_2) ?:
	       transfer_well(p, IBV_WR_RDMA_READ, SIZE) ?: surface_check(&p->here, OF_NODE_2);
}

/* ---- node 1: measurements --------------------------------------------------------- */

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Sets @out to the seconds of one transfer; @count transfers, one after the other */
static int measure(struct pair *p, enum ibv_wr_opcode op, size_t length, int count, double *out)
{
	double start = now();
	int i;

	for (i = 0; i < count; i++)
		if (transfer_well(p, op, length))
			return -1;
	*out = (now() - start) / count;
	return 0;
}

static int measure_all(struct pair *p)
{
	double word, small, large, read;

	if (measure(p, IBV_WR_RDMA_WRITE, WORD, WORD_WRITES, &word) ||
	    measure(p, IBV_WR_RDMA_WRITE, SMALL, SMALL_WRITES, &small) ||
	    measure(p, IBV_WR_RDMA_WRITE, SIZE, 2, &large) || measure(p, IBV_WR_RDMA_READ, SIZE, 2, &read))
		return -1;
	printf("%-24s %11.0f %12.1f %12.1f %12.1f\n", memory_name(p->here.kind), word * 1e6, SMALL / small / 1e6,
	       SIZE / large / 1e6, SIZE / read / 1e6);
	return 0;
}

static void print_head(void)
{
	printf("%-24s %11s %12s %12s %12s\n", "memory on both nodes", "8 bytes us", "64 KiB MB/s", "8 MiB MB/s",
	       "read MB/s");
}

/* ---- node 1: freed memory --------------------------------------------------------- */

/* Node 2 frees the memory between two packets of a write, or between two writes. */
static int write_until_refused(struct pair *p)
{
	enum ibv_wc_status status = IBV_WC_SUCCESS;
	struct answer answer;
	int i;

	if (transfer_well(p, IBV_WR_RDMA_WRITE, SIZE) || tell(p, REQUEST_REPLACE, OF_NEXT_OWNER))
		return -1;
	for (i = 0; i < WRITES_MAX && status == IBV_WC_SUCCESS; i++)
		status = transfer(p, IBV_WR_RDMA_WRITE, SIZE);
	if (link_wait(p->link, &answer))
		return -1;
	if (status == IBV_WC_REM_ACCESS_ERR)
		return 0;
	fprintf(stderr, "a write of freed memory: %s\n", ibv_wc_status_str(status));
	return -1;
}

static int free_under_writes(struct pair *p)
{
	if (surface_fill(&p->here, OF_NODE_1) || write_until_refused(p) || ask(p, REQUEST_CHECK, OF_NEXT_OWNER))
		return -1;
	printf("%-24s freed under writes: the writer got an error, the next owner's bytes are unchanged\n",
	       memory_name(p->here.kind));
	return 0;
}

/* ---- the demonstration -------------------------------------------------------------- */

static int demonstrate(struct link *l, enum memory_kind kind)
{
	struct pair p = { .link = l };
	int frees = kind == MEMORY_GPU || kind == MEMORY_REGION_DMABUF;

	if (surface_open(&p.here, kind, SIZE, l->id->pd) || ask(&p, REQUEST_OPEN, 0))
		return -1;
	if (both_ways(&p) || measure_all(&p) || (frees && free_under_writes(&p)))
		return -1;
	if (ask(&p, REQUEST_CLOSE, 0) || surface_close(&p.here))
		return -1;
	return frees ? link_connect(l) : 0;	/* the error has ended the connection */
}

static int end(struct link *l)
{
	const struct request request = { .op = REQUEST_END };
	struct answer answer;

	return link_tell(l, &request) ?: link_wait(l, &answer);
}

static int node_1(const char *address)
{
	struct link l;
	int kind;

	if (link_open(&l, address) || link_connect(&l))
		return -1;
	print_head();
	for (kind = 0; kind < MEMORY_KINDS; kind++)
		if (demonstrate(&l, kind))
			return -1;
	if (end(&l))
		return -1;
	link_close(&l);
	puts("demo-cluster: OK");
	return 0;
}

static int node_2(const char *address)
{
	struct link l;

	if (link_listen(&l, address) || serve(&l))
		return -1;
	link_close(&l);
	return 0;
}

int main(void)
{
	const char *node = getenv("NODE"), *list = getenv("NODE_ADDRESSES"), *second;
	char *addresses = list ? strdup(list) : NULL;

	second = addresses && strtok(addresses, " ") ? strtok(NULL, " ") : NULL;
	if (!node || !second) {
		fprintf(stderr, "demo-cluster: it needs two nodes; type: make demo-cluster\n");
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (strcmp(node, "1") && strcmp(node, "2"))
		return 0;
	if (memory_init())
		return 1;
	return (strcmp(node, "1") ? node_2 : node_1)(second) ? 1 : 0;
}
