// SPDX-License-Identifier: MIT
/*
 * GPU memory in libfabric. "fabric" is the server: one client may write and read its GPU memory.
 * "fabric ADDRESS" is the client: it writes the server's GPU memory and reads it.
 *
 * libfabric treats the GPU address as host memory: it calls ibv_reg_mr(). The InfiniBand core cannot pin
 * this address and asks its peer memory clients; then peerpin_ibpeer.ko pins the GPU memory.
 */
#include <cuda.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 4 << 20, ACCESS = FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE };

static struct fi_info *info;
static struct fid_fabric *fabric;
static struct fid_domain *domain;
static struct fid_eq *events;
static struct fid_cq *completions;
static struct fid_ep *ep;
static struct fid_mr *mr;
static CUdeviceptr gpu;
static unsigned char pattern[SIZE], got[SIZE];

/* @err: negative from libfabric, positive from CUDA or from a comparison */
static void need(ssize_t err, const char *what)
{
	if (!err)
		return;
	fprintf(stderr, "fabric: %s: %s\n", what, err < 0 ? fi_strerror((int)-err) : "failed");
	exit(1);
}

static struct fi_eq_cm_entry *await(uint32_t kind, const char *what)
{
	static uint64_t entry[64];
	uint32_t happened = 0;

	need(fi_eq_sread(events, &happened, entry, sizeof(entry), -1, 0) < 0 || happened != kind, what);
	return (void *)entry;
}

static void finish(ssize_t posted, const char *what)
{
	struct fi_cq_err_entry error = { .err = FI_EOTHER };
	struct fi_cq_entry done;

	need(posted, what);
	if (fi_cq_sread(completions, &done, 1, NULL, -1) != 1 && fi_cq_readerr(completions, &error, 0))
		need(-error.err, what);
}

static void *open_endpoint(void)
{
	void *at;

	need(fi_domain(fabric, info, &domain, NULL), "fi_domain");
	need(fi_cq_open(domain, &(struct fi_cq_attr){ .wait_obj = FI_WAIT_UNSPEC }, &completions, NULL), "fi_cq_open");
	need(fi_endpoint(domain, info, &ep, NULL) ?: fi_ep_bind(ep, &events->fid, 0) ?:
	     fi_ep_bind(ep, &completions->fid, FI_TRANSMIT | FI_RECV) ?: fi_enable(ep), "fi_endpoint");
	need(cuMemAlloc(&gpu, SIZE), "cuMemAlloc");
	at = (void *)(uintptr_t)gpu;
	need(fi_mr_reg(domain, at, SIZE, ACCESS, 0, 0, 0, &mr, NULL), "fi_mr_reg of GPU memory");
	return at;
}

static void client(void)
{
	void *at = open_endpoint();
	struct fi_rma_iov there;

	need(fi_connect(ep, info->dest_addr, NULL, 0), "fi_connect");
	memcpy(&there, await(FI_CONNECTED, "connection")->data, sizeof(there));
	need(cuMemcpyHtoD(gpu, pattern, SIZE) || cuCtxSynchronize(), "cuMemcpyHtoD");
	finish(fi_write(ep, at, SIZE, fi_mr_desc(mr), 0, there.addr, there.key, NULL), "fi_write");
	need(cuMemsetD8(gpu, 0, SIZE) || cuCtxSynchronize(), "cuMemsetD8");
	finish(fi_read(ep, at, SIZE, fi_mr_desc(mr), 0, there.addr, there.key, NULL), "fi_read");
	need(cuMemcpyDtoH(got, gpu, SIZE) || memcmp(got, pattern, SIZE), "comparison of what fi_read returned");
	puts("fabric_example: OK");
}

static void server(void)
{
	struct fid_pep *listener;

	need(fi_passive_ep(fabric, info, &listener, NULL), "fi_passive_ep");
	need(fi_pep_bind(listener, &events->fid, 0) ?: fi_listen(listener), "fi_listen");
	info = await(FI_CONNREQ, "request of a client")->info;
	open_endpoint();
	need(fi_accept(ep, &(struct fi_rma_iov){ gpu, SIZE, fi_mr_key(mr) }, sizeof(struct fi_rma_iov)), "fi_accept");
	await(FI_CONNECTED, "connection");
	await(FI_SHUTDOWN, "end of the client");
	need(cuMemcpyDtoH(got, gpu, SIZE) || memcmp(got, pattern, SIZE), "comparison of what fi_write wrote");
}

int main(int argc, char **argv)
{
	struct fi_eq_attr attr = { .wait_obj = FI_WAIT_UNSPEC };
	struct fi_info *hints = fi_allocinfo();
	CUcontext ctx;
	int i;

	for (i = 0; i < SIZE; i++)
		pattern[i] = (unsigned char)(i ^ i >> 8 ^ i >> 16);
	need(cuInit(0) || cuDevicePrimaryCtxRetain(&ctx, 0) || cuCtxSetCurrent(ctx), "GPU 0");
	hints->fabric_attr->prov_name = strdup("verbs");
	hints->ep_attr->type = FI_EP_MSG;
	hints->caps = FI_MSG | FI_RMA;
	hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_VIRT_ADDR;
	setenv("FI_MR_CACHE_MONITOR", "disabled", 0);	/* libfabric's monitors do not see cuMemFree() */
	need(fi_getinfo(FI_VERSION(1, 17), argv[1], "7471", argc > 1 ? 0 : FI_SOURCE, hints, &info), "address");
	need(fi_fabric(info->fabric_attr, &fabric, NULL) ?: fi_eq_open(fabric, &attr, &events, NULL), "fi_fabric");
	(argc > 1 ? client : server)();
	fi_shutdown(ep, 0);
	return 0;
}
