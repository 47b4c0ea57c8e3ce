// SPDX-License-Identifier: MIT
/*
 * RDMA to and from GPU memory of another machine. "verbs" is the server: one client may write and
 * read its GPU memory. "verbs ADDRESS" is the client: it writes the server's GPU memory and reads it.
 */
#include <cuda.h>
#include <errno.h>
#include <libpeerpin-verbs.h>
#include <rdma/rdma_verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	SIZE = 4 << 20,
	ACCESS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE,
};

/** struct window - sent by the server: address and key of its memory */
struct window {
	uint64_t addr;
	uint32_t rkey;
};

/* @why: NULL: use errno, which librdmacm sets */
static void need(int ok, const char *what, const char *why)
{
	if (ok)
		return;
	fprintf(stderr, "verbs: %s: %s\n", what, why ? why : strerror(errno));
	exit(1);
}

static void finish(struct rdma_cm_id *id, const char *what, int posted)
{
	struct ibv_wc wc;

	need(!posted && rdma_get_send_comp(id, &wc) == 1, what, NULL);
	need(wc.status == IBV_WC_SUCCESS, what, ibv_wc_status_str(wc.status));
}

/* Allocate and register GPU memory. If the RDMA adapter cannot reach it, print the reason, and use host memory. */
static const struct pp_mr *allocate(struct pp_verbs *v, void **at)
{
	const struct pp_mr *mr;
	struct pp_mr_why why;
	CUdeviceptr gpu;
	char text[512];
	int err;

	need(!cuMemAlloc(&gpu, SIZE), "cuMemAlloc", "no memory");
	*at = (void *)(uintptr_t)gpu;
	err = pp_verbs_reg(v, *at, SIZE, &mr, &why);
	if (!err)
		return mr;
	pp_verbs_explain(text, sizeof(text), err, &why);
	fprintf(stderr, "using cuMemHostAlloc() instead of GPU memory: %s\n", text);
	need(!cuMemFree(gpu) && !cuMemHostAlloc(at, SIZE, 0), "cuMemHostAlloc", "no memory");
	need(!pp_verbs_reg(v, *at, SIZE, &mr, NULL), "pp_verbs_reg", "the adapter cannot reach host memory either");
	return mr;
}

static void client(struct rdma_cm_id *id, const struct pp_mr *mr, void *at)
{
	struct rdma_conn_param param = { .initiator_depth = 1, .retry_count = 7 };
	static unsigned char got[SIZE];
	struct window there;

	need(!rdma_connect(id, &param), "rdma_connect", NULL);
	need(id->event->param.conn.private_data_len >= sizeof(there), "server", "sent no address");
	memcpy(&there, id->event->param.conn.private_data, sizeof(there));
	need(!cuMemsetD8((uintptr_t)at, 0x2a, SIZE) && !cuCtxSynchronize(), "cuMemsetD8", "failed");
	finish(id, "write", rdma_post_write(id, NULL, at, SIZE, mr->mr, IBV_SEND_SIGNALED, there.addr, there.rkey));
	need(!cuMemsetD8((uintptr_t)at, 0, SIZE) && !cuCtxSynchronize(), "cuMemsetD8", "failed");
	finish(id, "read", rdma_post_read(id, NULL, at, SIZE, mr->mr, IBV_SEND_SIGNALED, there.addr, there.rkey));
	need(!cuMemcpyDtoH(got, (uintptr_t)at, SIZE) && *got == 0x2a && !memcmp(got, got + 1, SIZE - 1), "read",
	     "wrong bytes");
	finish(id, "last send", rdma_post_sendv(id, NULL, NULL, 0, IBV_SEND_SIGNALED));
	puts("verbs_example: OK");
}

static void server(struct rdma_cm_id *id, const struct pp_mr *mr, void *at)
{
	struct window here = { .addr = (uintptr_t)at, .rkey = mr->mr->rkey };
	struct rdma_conn_param param = { &here, sizeof(here), .responder_resources = 1 };
	struct ibv_wc wc;

	need(!rdma_post_recvv(id, NULL, NULL, 0) && !rdma_accept(id, &param), "rdma_accept", NULL);
	need(rdma_get_recv_comp(id, &wc) == 1 && wc.status == IBV_WC_SUCCESS, "last receive", "failed");
}

int main(int argc, char **argv)
{
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_TCP, .ai_flags = argc > 1 ? 0 : RAI_PASSIVE }, *to;
	struct ibv_qp_init_attr attr = { .cap = { 1, 1, 1, 1, 0 }, .sq_sig_all = 1 };
	struct rdma_cm_id *id, *listener = NULL;
	const struct pp_mr *mr;
	struct pp_verbs *v;
	CUcontext ctx;
	void *at;

	need(!cuInit(0) && !cuDevicePrimaryCtxRetain(&ctx, 0) && !cuCtxSetCurrent(ctx), "GPU 0", "not available");
	need(!rdma_getaddrinfo(argv[1], "7471", &hints, &to) && !rdma_create_ep(&id, to, NULL, &attr), "address",
	     "unknown, or not reachable by an RDMA adapter");
	rdma_freeaddrinfo(to);
	if (argc < 2) {
		fprintf(stderr, "waiting for a client\n");
		listener = id;
		need(!rdma_listen(listener, 1) && !rdma_get_request(listener, &id), "rdma_listen", NULL);
	}
	need(!pp_verbs_open(id->pd, ACCESS, NULL, &v), "pp_verbs_open", "no memory");
	mr = allocate(v, &at);
	(argc > 1 ? client : server)(id, mr, at);
	need(!rdma_disconnect(id), "rdma_disconnect", NULL);
	pp_verbs_unreg(v, mr);
	pp_verbs_close(v);
	rdma_destroy_ep(id);
	if (listener)
		rdma_destroy_ep(listener);
	return 0;
}
