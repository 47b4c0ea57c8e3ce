/* SPDX-License-Identifier: MIT */
/*
 * The link between two nodes: a TCP connection for requests, and a reliable RDMA connection, which an
 * error ends and link_connect() makes again.
 */
#ifndef CLUSTER_LINK_H
#define CLUSTER_LINK_H

#include <rdma/rdma_cma.h>
#include <stdint.h>

struct link {
	int requests;
	struct rdma_cm_id *listener;
	struct rdma_cm_id *id;		/* NULL: not connected */
	const char *address;		/* of the other node; NULL on the node that accepts */
};

enum request_op {
	REQUEST_CONNECT,	/* accept an RDMA connection; the old one has ended */
	REQUEST_OPEN,		/* @kind, @size: a surface. The answer has its address and key */
	REQUEST_FILL,		/* it with @seed */
	REQUEST_CHECK,
	REQUEST_REPLACE,	/* free its memory, and fill the next owner's with @seed */
	REQUEST_CLOSE,
	REQUEST_END,
};

struct request {
	uint32_t op;
	uint32_t kind;
	uint64_t size;
	uint64_t seed;
};

struct answer {
	int32_t status;
	uint32_t rkey;
	uint64_t at;
};

/* All return 0; or -1 after they have printed what failed. */

/* @address: of the node that accepts; it tries for 20 s */
int link_open(struct link *l, const char *address);

/* The node that accepts. @address: its own */
int link_listen(struct link *l, const char *address);

int link_connect(struct link *l);
int link_accept(struct link *l);
void link_close(struct link *l);

int link_tell(struct link *l, const struct request *request);

/* The answer to the oldest request without one; fails also if its status is not 0 */
int link_wait(struct link *l, struct answer *answer);
int link_next(struct link *l, struct request *request);
int link_answer(struct link *l, const struct answer *answer);

#endif
