// SPDX-License-Identifier: MIT
/*
 * RDMA to and from GPU memory of another machine.
 *
 *	verbs			lets one other write and read its GPU's memory
 *	verbs ADDRESS		writes that of the machine at ADDRESS, and reads it
 */
#include <cuda.h>
#include <libpeerpin-verbs.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <stdio.h>
#include <string.h>

enum {
	SIZE = 4 << 20,
	ACCESS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE,
};

/** struct window - what the server tells: where its memory is, and the key to it */
struct window {
	uint64_t addr;
	uint32_t rkey;
};

static unsigned char sent[SIZE], got[SIZE];

static int fail(const char *what)
{
	perror(what);
	return 1;
}

/* An RDMA adapter may be unable to reach this GPU: why, and memory that both can reach. */
static void *allocate(struct pp_verbs *v, const struct pp_mr **mr)
{
	struct pp_mr_why why;
	CUdeviceptr gpu = 0;
	char text[512];
	void *host;
	int err;

	if (!cuMemAlloc(&gpu, SIZE)) {
		err = pp_verbs_reg(v, (void *)(uintptr_t)gpu, SIZE, mr, &why);
		if (!err)
			return (void *)(uintptr_t)gpu;
		pp_verbs_explain(text, sizeof(text), err, &why);
		fprintf(stderr, "cuMemHostAlloc()'s instead of the GPU's own memory: %s\n", text);
		cuMemFree(gpu);
	}
	if (cuMemHostAlloc(&host, SIZE, 0) || pp_verbs_reg(v, host, SIZE, mr, NULL))
		return NULL;
	return host;
}

static int finished(struct rdma_cm_id *id)
{
	struct ibv_wc wc;

	return rdma_get_send_comp(id, &wc) == 1 && wc.status == IBV_WC_SUCCESS;
}

static int client(struct rdma_cm_id *id, const struct pp_mr *mr, void *memory)
{
	struct rdma_conn_param param = { .responder_resources = 1, .initiator_depth = 1, .retry_count = 7 };
	struct window there;

	if (rdma_connect(id, &param))
		return fail("rdma_connect");
	memcpy(&there, id->event->param.conn.private_data, sizeof(there));
	for (size_t i = 0; i < SIZE; i++)
		sent[i] = (unsigned char)(i * 2654435761u >> 24);
	cuMemcpyHtoD((CUdeviceptr)(uintptr_t)memory, sent, SIZE);
	if (rdma_post_write(id, NULL, memory, SIZE, mr->mr, IBV_SEND_SIGNALED, there.addr, there.rkey) || !finished(id))
		return fail("write");
	cuMemsetD8((CUdeviceptr)(uintptr_t)memory, 0, SIZE);
	if (rdma_post_read(id, NULL, memory, SIZE, mr->mr, IBV_SEND_SIGNALED, there.addr, there.rkey) || !finished(id))
		return fail("read");
	cuMemcpyDtoH(got, (CUdeviceptr)(uintptr_t)memory, SIZE);
	if (rdma_post_sendv(id, NULL, NULL, 0, IBV_SEND_SIGNALED) || !finished(id) || rdma_disconnect(id))
		return fail("goodbye");
	printf("verbs_example: %s\n", memcmp(sent, got, SIZE) ? "other bytes came back" : "OK");
	return memcmp(sent, got, SIZE) != 0;
}

/* The other side works alone, until it says that it has. */
static int server(struct rdma_cm_id *id, const struct pp_mr *mr, void *memory)
{
	struct window here = { .addr = (uintptr_t)memory, .rkey = mr->mr->rkey };
	struct rdma_conn_param param = { .private_data = &here, .private_data_len = sizeof(here),
					 .responder_resources = 1, .initiator_depth = 1 };
	struct ibv_wc wc;

	if (rdma_post_recvv(id, NULL, NULL, 0) || rdma_accept(id, &param))
		return fail("rdma_accept");
	return rdma_get_recv_comp(id, &wc) != 1 || wc.status != IBV_WC_SUCCESS || rdma_disconnect(id);
}

int main(int argc, char **argv)
{
	struct ibv_qp_init_attr attr = { .cap = { 1, 1, 1, 1, 0 }, .sq_sig_all = 1 };
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_TCP, .ai_flags = argc > 1 ? 0 : RAI_PASSIVE }, *at;
	struct rdma_cm_id *id, *listener = NULL;
	const struct pp_mr *mr;
	struct pp_verbs *v;
	CUcontext ctx;
	void *memory;

	if (cuInit(0) || cuDevicePrimaryCtxRetain(&ctx, 0) || cuCtxSetCurrent(ctx))
		return fail("no GPU");
	if (rdma_getaddrinfo(argc > 1 ? argv[1] : NULL, "7471", &hints, &at) || rdma_create_ep(&id, at, NULL, &attr))
		return fail("rdma_create_ep");
	if (argc < 2)
		fprintf(stderr, "waiting for the other machine\n");
	if (argc < 2 && (listener = id, rdma_listen(listener, 1) || rdma_get_request(listener, &id)))
		return fail("rdma_listen");
	if (pp_verbs_open(id->pd, ACCESS, NULL, &v) || !(memory = allocate(v, &mr)))
		return fail("memory");
	return argc > 1 ? client(id, mr, memory) : server(id, mr, memory);
}
