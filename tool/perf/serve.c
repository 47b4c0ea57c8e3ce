// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "link.h"
#include "serve.h"
#include "tool/tool.h"

/* The answer to CONNECT is the RDMA connection itself. */
static int obey(struct link *l, const struct link_request *request, struct rdma_cm_id *listener,
		struct link_answer *answer, struct perf_why *why)
{
	switch (be64toh(request->op)) {
	case LINK_CONNECT:
		return link_accept(l, listener, why);
	case LINK_OPEN:
		if (link_register(l, be64toh(request->kind) ? PERF_GPU : PERF_HOST, be64toh(request->bytes), why))
			return -1;
		answer->at = htobe64(l->memory.at);
		answer->rkey = htobe64(l->mr->mr->rkey);
		return 0;
	case LINK_CLOSE:
		link_unregister(l);
		return 0;
	default:
		return perf_refuse(why, "the request is of an unknown kind");
	}
}

/* False: the connection is to be closed. */
static bool serve_request(struct link *l, struct rdma_cm_id *listener)
{
	struct link_answer answer = { .magic = link_magic() };
	struct link_request request;
	struct perf_why why = { "" };
	int ret;

	if (!link_receive(l->tcp, &request, sizeof(request)) || request.magic != link_magic())
		return false;
	ret = obey(l, &request, listener, &answer, &why);
	if (request.op == htobe64(LINK_CONNECT))
		return !ret;
	if (ret) {
		link_unregister(l);
		answer.failed = htobe64(1);
		snprintf(answer.why, sizeof(answer.why), "%.*s", LINK_WHY - 1, why.at);
	}
	return link_send(l->tcp, &answer, sizeof(answer));
}

static void serve_machine(int tcp, struct rdma_cm_id *listener)
{
	struct link l = { .tcp = tcp };

	while (serve_request(&l, listener))
		;
	link_close(&l);
}

int perf_serve(const struct perf_args *args)
{
	struct rdma_cm_id *listener;
	struct perf_why why;
	int tcp, machine;

	if (link_listen(args, &listener, &tcp, &why))
		return fail("%s", why.at);
	printf("serving at %s, port %u; type on the other machine: peerpin perf ADDRESS\n",
	       args->host ? args->host : "all addresses", (unsigned int)args->port);
	fflush(stdout);
	while ((machine = accept4(tcp, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		serve_machine(machine, listener);
		if (args->once)
			return EXIT_OK;
	}
	return fail("accept() failed; see the kernel's log: dmesg");
}
