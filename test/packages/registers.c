// SPDX-License-Identifier: MIT
/* The program of a CI job on doc/cluster.md: registers GPU memory with the RDMA adapter of its node. */
#include <cuda.h>
#include <infiniband/verbs.h>
#include <stdio.h>

int main(void)
{
	struct ibv_device **adapters = ibv_get_device_list(NULL);
	struct ibv_context *adapter = adapters && *adapters ? ibv_open_device(*adapters) : NULL;
	struct ibv_pd *pd = adapter ? ibv_alloc_pd(adapter) : NULL;
	CUdeviceptr gpu;
	CUcontext ctx;

	if (!pd || cuInit(0) || cuDevicePrimaryCtxRetain(&ctx, 0) || cuCtxSetCurrent(ctx) || cuMemAlloc(&gpu, 65536)) {
		fprintf(stderr, "no GPU, or no RDMA adapter\n");
		return 1;
	}
	if (!ibv_reg_mr(pd, (void *)gpu, 65536, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE)) {
		perror("ibv_reg_mr");
		return 1;
	}
	puts("registered");
	return 0;
}
