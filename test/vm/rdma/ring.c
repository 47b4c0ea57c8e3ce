// SPDX-License-Identifier: MIT
/*
 * A ring of nodes of emu/vm/cluster. In each step each node writes a surface of its GPU into the GPU of the next
 * node. So the first surface of a node passes all nodes and comes back. After each step each node compares all bytes.
 *
 *	emu/vm/cluster --nodes 8 -- build/bin/vm/ring
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <sys/socket.h>

#include "rdma.h"

enum { PORT = 7472, TRIES = 600, TRY_US = 100000, LENGTH = 512 << 10, WORDS = LENGTH / sizeof(uint64_t) };

/** struct end - one end of a connection, and both surfaces of its node */
struct end {
	struct rc_id id;
	uint64_t at[2];
	uint32_t rkey[2];
};

static int node, nodes;
static struct rc to_next, from_previous;
static int next = -1, previous = -1;	/* TCP connections */
static struct memory surface[2];
static struct end there;		/* of the next node */
static uint64_t words[WORDS];

static void need(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "ring: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* ---- neighbours --------------------------------------------------------------------- */

static struct sockaddr_in address_of(int number)
{
	char list[4096], *word, *rest = list;

	snprintf(list, sizeof(list), "%s", getenv("NODE_ADDRESSES"));
	do
		word = strtok_r(rest, " ", &rest);
	while (word && --number);
	need(word, "NODE_ADDRESSES");
	return (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(PORT), .sin_addr.s_addr = inet_addr(word) };
}

static int listen_here(void)
{
	struct sockaddr_in here = address_of(node);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	need(!bind(fd, (struct sockaddr *)&here, sizeof(here)) && !listen(fd, 1), "listen");
	return fd;
}

/* The program of the next node may not listen yet. */
static int connect_to(int number)
{
	struct sockaddr_in to = address_of(number);
	int fd = -1, tries;

	for (tries = 0; tries < TRIES; tries++) {
		fd = socket(AF_INET, SOCK_STREAM, 0);
		if (!connect(fd, (struct sockaddr *)&to, sizeof(to)))
			return fd;
		close(fd);
		usleep(TRY_US);
	}
	need(false, "next node");
	return -1;
}

static void tell(int fd, const void *data, size_t length)
{
	need(send(fd, data, length, MSG_NOSIGNAL) == (ssize_t)length, "send");
}

static void hear(int fd, void *data, size_t length)
{
	need(recv(fd, data, length, MSG_WAITALL) == (ssize_t)length, "a neighbour has ended");
}

/* Wait until both neighbours have come here too. */
static void meet_neighbours(void)
{
	char byte = 0;

	tell(next, &byte, 1);
	tell(previous, &byte, 1);
	hear(next, &byte, 1);
	hear(previous, &byte, 1);
}

/* ---- connections -------------------------------------------------------------------- */

static void open_all(void)
{
	need(cu_start(0), "GPU 0");
	need(!pp_open(&peerpin), "/dev/peerpin");
	need(!rc_open(&to_next), "RDMA adapter");
	from_previous = to_next;
	need(!rc_new(&to_next) && !rc_new(&from_previous), "ibv_create_qp");
	need(!memory_open(&surface[0], to_next.pd, BY_POINTER), "registration by pointer");
	need(!memory_open(&surface[1], to_next.pd, BY_REGION_DMABUF), "registration by dma-buf");
}

static void connect_queues(void)
{
	struct end here = { to_next.id, { surface[0].at, surface[1].at }, { surface[0].mr->rkey, surface[1].mr->rkey } };

	tell(next, &here, sizeof(here));
	hear(previous, &there, sizeof(there));
	need(!rc_connect(&from_previous, &there.id), "connection with the previous node");
	here.id = from_previous.id;
	tell(previous, &here, sizeof(here));
	hear(next, &there, sizeof(there));
	need(!rc_connect(&to_next, &there.id), "connection with the next node");
}

static void connect_ring(void)
{
	int listener = listen_here();

	next = connect_to(node % nodes + 1);
	previous = accept(listener, NULL, NULL);
	need(previous >= 0, "accept");
	connect_queues();
}

/* ---- bytes -------------------------------------------------------------------------- */

static uint64_t word(int owner, size_t place)
{
	return ((uint64_t)owner << 32 | place) * 0x9e3779b97f4a7c15;
}

static void fill(struct memory *m)
{
	size_t i;

	for (i = 0; i < WORDS; i++)
		words[i] = word(node, i);
	need(!cuMemcpyHtoD(m->at, words, LENGTH) && !cuCtxSynchronize(), "cuMemcpyHtoD");
}

static void compare(struct memory *m, int owner)
{
	size_t i, wrong = 0;

	need(!cuMemcpyDtoH(words, m->at, LENGTH), "cuMemcpyDtoH");
	for (i = 0; i < WORDS; i++)
		wrong += words[i] != word(owner, i);
	if (!wrong)
		return;
	fprintf(stderr, "ring: %zu of %zu words of node %d's surface are wrong\n", wrong, (size_t)WORDS, owner);
	exit(1);
}

/* The surfaces change roles in each step: no node writes a surface that its owner is still sending. */
static void take_step(int step)
{
	int from = step % 2, to = !from;
	int status = rc_transfer(&to_next, IBV_WR_RDMA_WRITE, surface[from].mr, surface[from].at, there.at[to],
				 there.rkey[to], LENGTH);

	need(status >= 0, "write");
	if (status) {
		fprintf(stderr, "ring: write: %s\n", ibv_wc_status_str(status));
		exit(1);
	}
	meet_neighbours();
	compare(&surface[to], (node + nodes - step - 2) % nodes + 1);
}

int main(void)
{
	int step;

	need(getenv("NODE") && getenv("NODES"), "no node; type: emu/vm/cluster -- build/bin/vm/ring");
	node = atoi(getenv("NODE"));
	nodes = atoi(getenv("NODES"));
	open_all();
	fill(&surface[0]);
	connect_ring();
	for (step = 0; step < nodes; step++)
		take_step(step);
	need(!memory_close(&surface[0]) && !memory_close(&surface[1]), "deregistration");
	printf("ring: %d surfaces came by, all bytes right\n", nodes);
	return 0;
}
