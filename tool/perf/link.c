// SPDX-License-Identifier: MIT
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "link.h"

enum {
	ACCESS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE,
	RETRIES = 7,
	TRIES = 25,
	TRY_US = 200000,
};

uint64_t link_magic(void)
{
	return htobe64(0x7070706572660001);	/* "ppperf", version 1 */
}

/* ---- requests ------------------------------------------------------------------------------ */

bool link_send(int tcp, const void *data, size_t length)
{
	return send(tcp, data, length, MSG_NOSIGNAL) == (ssize_t)length;
}

bool link_receive(int tcp, void *data, size_t length)
{
	return recv(tcp, data, length, MSG_WAITALL) == (ssize_t)length;
}

int link_ask(struct link *l, enum link_op op, enum perf_kind kind, uint64_t bytes, struct link_answer *answer,
	     struct perf_why *why)
{
	const struct link_request request = {
		.magic = link_magic(), .op = htobe64(op), .kind = htobe64(kind), .bytes = htobe64(bytes),
	};

	if (!link_send(l->tcp, &request, sizeof(request)))
		return perf_refuse(why, "the other machine has closed the connection");
	/* the RDMA connection itself is the answer: the other machine accepts it while this machine connects */
	if (op == LINK_CONNECT)
		return 0;
	if (!link_receive(l->tcp, answer, sizeof(*answer)))
		return perf_refuse(why, "the other machine has closed the connection");
	if (answer->magic != link_magic())
		return perf_refuse(why, "the other machine runs another version of peerpin perf --serve");
	answer->why[LINK_WHY - 1] = '\0';
	if (answer->failed)
		return perf_refuse(why, "the other machine: %s", answer->why);
	return 0;
}

/* Looks at the TCP connection, because an adapter may retry a request to a dead machine for ever. */
bool link_has_ended(const struct link *l)
{
	struct pollfd tcp = { .fd = l->tcp, .events = POLLIN };

	return poll(&tcp, 1, 0) > 0;
}

/* ---- TCP -------------------------------------------------------------------------------------- */

/* If the other machine is dead, connect() and the wait for a message fail after half a minute. */
static void bound_waits(int tcp)
{
	const int on = 1, tries = 4, idle_s = 10, interval_s = 5, unacknowledged_ms = 30000;

	setsockopt(tcp, IPPROTO_TCP, TCP_SYNCNT, &tries, sizeof(tries));
	setsockopt(tcp, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	setsockopt(tcp, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
	setsockopt(tcp, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof(interval_s));
	setsockopt(tcp, IPPROTO_TCP, TCP_KEEPCNT, &tries, sizeof(tries));
	setsockopt(tcp, IPPROTO_TCP, TCP_USER_TIMEOUT, &unacknowledged_ms, sizeof(unacknowledged_ms));
}

/* @use: connect() or bind(). An accepted socket inherits the options of the listening socket. */
static int open_tcp(const char *host, uint64_t port, int flags, int (*use)(int, const struct sockaddr *, socklen_t),
		    int *out, struct perf_why *why)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = flags }, *found;
	const char *name = host ? host : "all addresses";
	char service[16];
	int ret, error, on = 1;

	snprintf(service, sizeof(service), "%u", (unsigned int)port);
	ret = getaddrinfo(host, service, &hints, &found);
	errno = 0;
	if (ret)
		return perf_refuse(why, "%s: %s", name, gai_strerror(ret));
	*out = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (*out >= 0) {
		setsockopt(*out, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
		bound_waits(*out);
	}
	ret = *out < 0 ? -1 : use(*out, found->ai_addr, found->ai_addrlen);
	error = errno;
	if (ret)
		perf_refuse(why, "%s, port %s: %s", name, service, strerror(error));
	freeaddrinfo(found);
	if (ret && *out >= 0)
		close(*out);
	errno = error;
	return ret;
}

/* Waits for the other machine, which may be starting. Later calls do not wait again: @tries is used up. */
static int connect_tcp(const struct perf_args *args, int *out, struct perf_why *why)
{
	static int tries = TRIES;
	int ret;

	while ((ret = open_tcp(args->host, args->port, 0, connect, out, why)) && errno == ECONNREFUSED && --tries > 0)
		usleep(TRY_US);
	return ret;
}

/* ---- RDMA ---------------------------------------------------------------------------------------- */

static int create_ep(const char *host, uint64_t port, int flags, struct rdma_cm_id **id, struct perf_why *why)
{
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_TCP, .ai_flags = flags }, *found;
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = LINK_DEPTH, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
		.sq_sig_all = 1,
	};
	char service[16];
	int ret;

	snprintf(service, sizeof(service), "%u", (unsigned int)port + 1);
	if (net.getaddrinfo(host, service, &hints, &found))
		return perf_refuse(why, "no RDMA adapter %s %s: %s; type: rdma link", host ? "reaches" : "is",
				   host ? host : "here", strerror(errno));
	ret = net.create_ep(id, found, NULL, &attr);
	if (ret)
		perf_refuse(why, "no RDMA adapter has the address %s: %s", host ? host : "of this machine", strerror(errno));
	net.freeaddrinfo(found);
	return ret;
}

static int open_verbs(struct link *l, struct perf_why *why)
{
	int ret = net.verbs_open(l->id->pd, ACCESS, NULL, &l->verbs);

	return ret ? perf_refuse_call(why, "pp_verbs_open", ret) : 0;
}

static struct rdma_conn_param parameters(void)
{
	return (struct rdma_conn_param){
		.initiator_depth = RDMA_MAX_INIT_DEPTH, .responder_resources = RDMA_MAX_RESP_RES, .retry_count = RETRIES,
		.rnr_retry_count = RETRIES,
	};
}

static int connect_rdma(struct link *l, const struct perf_args *args, struct perf_why *why)
{
	struct rdma_conn_param param = parameters();
	struct link_answer answer;

	if (create_ep(args->host, args->port, 0, &l->id, why))
		return -1;
	if (link_ask(l, LINK_CONNECT, PERF_HOST, 0, &answer, why))
		return -1;
	if (net.connect(l->id, &param))
		return perf_refuse_call(why, "rdma_connect", errno);
	return open_verbs(l, why);
}

int link_connect(struct link *l, const struct perf_args *args, struct perf_why *why)
{
	*l = (struct link){ .tcp = -1 };
	if (net_load(why))
		return -1;
	if (connect_tcp(args, &l->tcp, why)) {
		l->tcp = -1;
		return -1;
	}
	if (!connect_rdma(l, args, why))
		return 0;
	link_close(l);
	return -1;
}

int link_listen(const struct perf_args *args, struct rdma_cm_id **listener, int *tcp, struct perf_why *why)
{
	if (net_load(why) || create_ep(args->host, args->port, RAI_PASSIVE, listener, why))
		return -1;
	if (net.listen(*listener, 1))
		return perf_refuse_call(why, "rdma_listen", errno);
	if (open_tcp(args->host, args->port, AI_PASSIVE, bind, tcp, why))
		return -1;
	return listen(*tcp, 1) ? perf_refuse_call(why, "listen", errno) : 0;
}

int link_accept(struct link *l, struct rdma_cm_id *listener, struct perf_why *why)
{
	struct rdma_conn_param param = parameters();

	if (l->id)
		return perf_refuse(why, "the other machine is connected already");
	if (net.get_request(listener, &l->id))
		return perf_refuse_call(why, "rdma_get_request", errno);
	if (net.accept(l->id, &param))
		return perf_refuse_call(why, "rdma_accept", errno);
	return open_verbs(l, why);
}

/* ---- memory ------------------------------------------------------------------------------------- */

int link_register(struct link *l, enum perf_kind kind, uint64_t bytes, struct perf_why *why)
{
	struct pp_mr_why reason;
	int ret;

	if (!l->verbs || l->mr)
		return perf_refuse(why, "there is no RDMA connection, or memory is registered already");
	if (memory_get(&l->memory, kind, bytes, why))
		return -1;
	ret = net.reg(l->verbs, memory_at(&l->memory), bytes, &l->mr, &reason);
	if (!ret)
		return 0;
	l->mr = NULL;
	net.explain(why->at, sizeof(why->at), ret, &reason);
	return -1;
}

/* Flushes the cache, which would otherwise keep the memory registered, and so allocated, after the free. */
void link_unregister(struct link *l)
{
	if (l->mr)
		net.unreg(l->verbs, l->mr);
	l->mr = NULL;
	if (l->verbs)
		pp_cache_flush(net.cache(l->verbs));
	memory_put(&l->memory);
}

void link_close(struct link *l)
{
	link_unregister(l);
	if (l->verbs)
		net.verbs_close(l->verbs);
	if (l->id) {
		/* not after an error: rdma_disconnect() waits for minutes for the answer of a dead machine */
		if (!l->broken)
			net.disconnect(l->id);
		net.destroy_ep(l->id);
	}
	if (l->tcp >= 0)
		close(l->tcp);
	*l = (struct link){ .tcp = -1 };
}
