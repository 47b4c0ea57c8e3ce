/* SPDX-License-Identifier: MIT */
/*
 * The link to another machine: a TCP connection for requests, a reliable RDMA connection, and on each side one
 * registered piece of memory.
 */
#ifndef PERF_LINK_H
#define PERF_LINK_H

#include <endian.h>
#include "memory.h"
#include "net.h"

enum {
	LINK_DEPTH = 16,	/* requests of RDMA in flight */
	LINK_WHY = 192,
};

enum link_op {
	LINK_CONNECT,	/* accept an RDMA connection */
	LINK_OPEN,	/* register memory; the answer has its address and key */
	LINK_CLOSE,	/* free it */
};

/** struct link_request, link_answer - numbers are big-endian */
struct link_request {
	uint64_t magic;
	uint64_t op;
	uint64_t kind;
	uint64_t bytes;
};

struct link_answer {
	uint64_t magic;
	uint64_t failed;
	uint64_t at;
	uint64_t rkey;
	char why[LINK_WHY];
};

/** struct link - @tcp: -1: not connected; @mr: NULL: no memory is registered; @broken: a transfer has failed */
struct link {
	int tcp;
	struct rdma_cm_id *id;
	struct pp_verbs *verbs;
	struct perf_memory memory;
	const struct pp_mr *mr;
	bool broken;
};

/* All return 0, or -1 with @why. */

/* The side that measures. On failure the link is closed. */
int link_connect(struct link *l, const struct perf_args *args, struct perf_why *why);

/* Has the other machine closed the connection, or died? Call it only while no answer of that machine is pending. */
bool link_has_ended(const struct link *l);

/* Sends a request, and waits for the answer. */
int link_ask(struct link *l, enum link_op op, enum perf_kind kind, uint64_t bytes, struct link_answer *answer,
	     struct perf_why *why);

/* The side that serves. *listener: made by link_listen() */
int link_listen(const struct perf_args *args, struct rdma_cm_id **listener, int *tcp, struct perf_why *why);
int link_accept(struct link *l, struct rdma_cm_id *listener, struct perf_why *why);

/* Allocate and register memory for the link; free it. */
int link_register(struct link *l, enum perf_kind kind, uint64_t bytes, struct perf_why *why);
void link_unregister(struct link *l);

void link_close(struct link *l);

/* Return false if the other side has gone. */
bool link_send(int tcp, const void *data, size_t length);
bool link_receive(int tcp, void *data, size_t length);

/* What the first field of each message must be */
uint64_t link_magic(void);

#endif
