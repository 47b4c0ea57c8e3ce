// SPDX-License-Identifier: MIT
/*
 * fabric_example.c with unconnected endpoints: the provider "verbs;ofi_rxm" makes the connections. "fabric_rxm"
 * is the server, and "fabric_rxm ADDRESS" is the client, which writes the server's GPU memory and reads it.
 */
#include <cuda.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 4 << 20, ACCESS = FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE };

/** struct message - @name: the client's endpoint; @addr, @key: the server's GPU memory */
static struct message {
	char name[64];
	uint64_t addr, key;
} message;

static struct fi_info *info;
static struct fid_cq *completions;
static struct fid_av *peers;
static struct fid_ep *ep;
static struct fid_mr *mr, *message_mr;
static CUdeviceptr gpu;
static fi_addr_t peer;
static unsigned char pattern[SIZE], got[SIZE];

/* @err: negative from libfabric, positive from CUDA or from a comparison */
static void need(ssize_t err, const char *what)
{
	if (!err)
		return;
	fprintf(stderr, "fabric_rxm: %s: %s\n", what, err < 0 ? fi_strerror((int)-err) : "failed");
	exit(1);
}

static void finish(ssize_t posted, const char *what)
{
	struct fi_cq_err_entry error = { .err = FI_EOTHER };
	struct fi_cq_entry done;

	need(posted, what);
	if (fi_cq_sread(completions, &done, 1, NULL, -1) != 1 && fi_cq_readerr(completions, &error, 0))
		need(-error.err, what);
}

static void receive_message(void)
{
	finish(fi_recv(ep, &message, sizeof(message), fi_mr_desc(message_mr), FI_ADDR_UNSPEC, NULL), "fi_recv");
}

/* The first send connects. Until there is a connection, fi_send() answers EAGAIN, and fi_cq_read() makes progress. */
static void send_message(void)
{
	ssize_t posted;

	while ((posted = fi_send(ep, &message, sizeof(message), fi_mr_desc(message_mr), peer, NULL)) == -FI_EAGAIN)
		fi_cq_read(completions, NULL, 0);
	finish(posted, "fi_send");
}

static void client(void)
{
	void *at = (void *)gpu;

	need(fi_av_insert(peers, info->dest_addr, 1, &peer, 0, NULL) != 1, "address of the server");
	need(fi_getname(&ep->fid, message.name, &(size_t){ sizeof(message.name) }), "fi_getname");
	send_message();
	receive_message();
	need(cuMemcpyHtoD(gpu, pattern, SIZE) || cuCtxSynchronize(), "cuMemcpyHtoD");
	finish(fi_write(ep, at, SIZE, fi_mr_desc(mr), peer, message.addr, message.key, NULL), "fi_write");
	need(cuMemsetD8(gpu, 0, SIZE) || cuCtxSynchronize(), "cuMemsetD8");
	finish(fi_read(ep, at, SIZE, fi_mr_desc(mr), peer, message.addr, message.key, NULL), "fi_read");
	need(cuMemcpyDtoH(got, gpu, SIZE) || memcmp(got, pattern, SIZE), "comparison of what fi_read returned");
	send_message();
	puts("fabric_rxm_example: OK");
}

static void server(void)
{
	receive_message();
	need(fi_av_insert(peers, message.name, 1, &peer, 0, NULL) != 1, "address of the client");
	message.addr = gpu;
	message.key = fi_mr_key(mr);
	send_message();
	receive_message();
	need(cuMemcpyDtoH(got, gpu, SIZE) || memcmp(got, pattern, SIZE), "comparison of what fi_write wrote");
}

int main(int argc, char **argv)
{
	struct fi_cq_attr waits = { .wait_obj = FI_WAIT_UNSPEC };
	struct fi_info *hints = fi_allocinfo();
	struct fid_domain *domain;
	struct fid_fabric *fabric;
	CUcontext ctx;

	for (int i = 0; i < SIZE; i++)
		pattern[i] = (unsigned char)(i ^ i >> 8 ^ i >> 16);
	need(cuInit(0) || cuDevicePrimaryCtxRetain(&ctx, 0) || cuCtxSetCurrent(ctx) || cuMemAlloc(&gpu, SIZE), "GPU 0");
	hints->fabric_attr->prov_name = strdup("verbs;ofi_rxm");
	hints->ep_attr->type = FI_EP_RDM;
	hints->caps = FI_MSG | FI_RMA;
	hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_VIRT_ADDR;
	setenv("FI_MR_CACHE_MONITOR", "disabled", 0);	/* libfabric's monitors do not see cuMemFree() */
	setenv("FI_UNIVERSE_SIZE", "16", 0);		/* for the default of 256 peers, Soft-RoCE's CQs are too small */
	need(fi_getinfo(FI_VERSION(1, 17), argv[1], "7471", argc > 1 ? 0 : FI_SOURCE, hints, &info), "address");
	need(fi_fabric(info->fabric_attr, &fabric, NULL) ?: fi_domain(fabric, info, &domain, NULL), "fi_domain");
	need(fi_cq_open(domain, &waits, &completions, NULL), "fi_cq_open");
	need(fi_av_open(domain, &(struct fi_av_attr){ .type = FI_AV_TABLE }, &peers, NULL), "fi_av_open");
	need(fi_endpoint(domain, info, &ep, NULL) ?: fi_ep_bind(ep, &completions->fid, FI_TRANSMIT | FI_RECV) ?:
	     fi_ep_bind(ep, &peers->fid, 0) ?: fi_enable(ep), "fi_endpoint");
	need(fi_mr_reg(domain, (void *)(uintptr_t)gpu, SIZE, ACCESS, 0, 0, 0, &mr, NULL), "fi_mr_reg of GPU memory");
	need(fi_mr_reg(domain, &message, sizeof(message), FI_SEND | FI_RECV, 0, 1, 0, &message_mr, NULL), "fi_mr_reg");
	(argc > 1 ? client : server)();
	return 0;
}
