// SPDX-License-Identifier: MIT
#include <arpa/inet.h>
#include <errno.h>
#include <rdma/rdma_verbs.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "link.h"

enum { PORT = 7471, TRIES = 200, TRY_US = 100000 };

static int wrong(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	return -1;
}

/* ---- requests ------------------------------------------------------------------- */

static int tcp_address(const char *address, struct sockaddr_in *out)
{
	*out = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(PORT) };
	if (inet_pton(AF_INET, address, &out->sin_addr) == 1)
		return 0;
	errno = EINVAL;
	return wrong(address);
}

static int send_all(int fd, const void *data, size_t length)
{
	return send(fd, data, length, MSG_NOSIGNAL) == (ssize_t)length ? 0 : wrong("send");
}

static int receive_all(int fd, void *data, size_t length)
{
	ssize_t n = recv(fd, data, length, MSG_WAITALL);

	if (n == (ssize_t)length)
		return 0;
	errno = n < 0 ? errno : ECONNRESET;
	return wrong("receive");
}

int link_tell(struct link *l, const struct request *request)
{
	return send_all(l->requests, request, sizeof(*request));
}

int link_wait(struct link *l, struct answer *answer)
{
	return receive_all(l->requests, answer, sizeof(*answer)) ?: answer->status;
}

int link_next(struct link *l, struct request *request)
{
	return receive_all(l->requests, request, sizeof(*request));
}

int link_answer(struct link *l, const struct answer *answer)
{
	return send_all(l->requests, answer, sizeof(*answer));
}

/* ---- RDMA ----------------------------------------------------------------------- */

static int create_endpoint(const char *address, int passive, struct rdma_cm_id **id)
{
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_TCP, .ai_flags = passive ? RAI_PASSIVE : 0 }, *to;
	struct ibv_qp_init_attr attr = { .cap = { 16, 1, 1, 1, 0 }, .sq_sig_all = 1 };
	char port[8];
	int ret;

	snprintf(port, sizeof(port), "%d", PORT);
	if (rdma_getaddrinfo(address, port, &hints, &to))
		return wrong(address);
	ret = rdma_create_ep(id, to, NULL, &attr);
	rdma_freeaddrinfo(to);
	return ret ? wrong("no RDMA adapter for this address") : 0;
}

static void disconnect(struct link *l)
{
	if (!l->id)
		return;
	rdma_disconnect(l->id);
	rdma_destroy_ep(l->id);
	l->id = NULL;
}

/*
 * The other node disconnects and accepts while this one does the same, so its answer comes last. A
 * disconnection that the other node does not answer takes minutes.
 */
int link_connect(struct link *l)
{
	struct rdma_conn_param param = { .initiator_depth = 1, .responder_resources = 1, .retry_count = 7 };
	const struct request request = { .op = REQUEST_CONNECT };
	struct answer answer;

	if (link_tell(l, &request))
		return -1;
	disconnect(l);
	if (create_endpoint(l->address, 0, &l->id))
		return -1;
	if (rdma_connect(l->id, &param))
		return wrong("rdma_connect");
	return link_wait(l, &answer);
}

int link_accept(struct link *l)
{
	struct rdma_conn_param param = { .initiator_depth = 1, .responder_resources = 1 };

	disconnect(l);
	if (rdma_get_request(l->listener, &l->id))
		return wrong("rdma_get_request");
	return rdma_accept(l->id, &param) ? wrong("rdma_accept") : 0;
}

/* ---- both ----------------------------------------------------------------------- */

int link_open(struct link *l, const char *address)
{
	struct sockaddr_in to;
	int tries;

	*l = (struct link){ .requests = -1, .address = address };
	if (tcp_address(address, &to))
		return -1;
	for (tries = 0; tries < TRIES; tries++) {
		l->requests = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (!connect(l->requests, (struct sockaddr *)&to, sizeof(to)))
			return 0;
		close(l->requests);
		usleep(TRY_US);
	}
	return wrong(address);
}

int link_listen(struct link *l, const char *address)
{
	int on = 1, listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in here;

	*l = (struct link){ .requests = -1 };
	if (create_endpoint(address, 1, &l->listener) || tcp_address(address, &here))
		return -1;
	if (rdma_listen(l->listener, 1))
		return wrong("rdma_listen");
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(listener, (struct sockaddr *)&here, sizeof(here)) || listen(listener, 1))
		return wrong("listen");
	l->requests = accept(listener, NULL, NULL);
	close(listener);
	return l->requests < 0 ? wrong("accept") : 0;
}

void link_close(struct link *l)
{
	disconnect(l);
	if (l->listener)
		rdma_destroy_ep(l->listener);
	close(l->requests);
}
