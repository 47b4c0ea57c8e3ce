// SPDX-License-Identifier: MIT
/*
 * Registers GPU memory with an InfiniBand core, without calls of peerpin: cuMemAlloc(), then the
 * kernel part of ibv_reg_mr(). The core is a test module, because the upstream core has no peer
 * memory. A device that copies acts as the adapter. doc/ibpeer.md tells how to run the example.
 */
#include <cuda.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "emu/peer_mem/ib_peer_shim.h"

enum { BYTES = 2 << 20 };	/* a smaller allocation shares its block, so its free revokes nothing */

static void need(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "ibpeer: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void cuda(CUresult result, const char *what)
{
	if (result == CUDA_SUCCESS)
		return;
	fprintf(stderr, "ibpeer: %s: CUDA error %d\n", what, result);
	exit(1);
}

static CUdeviceptr gpu_memory(unsigned char value)
{
	CUdeviceptr ptr;

	cuda(cuMemAlloc(&ptr, BYTES), "cuMemAlloc");
	cuda(cuMemsetD8(ptr, value, BYTES), "cuMemsetD8");
	cuda(cuCtxSynchronize(), "cuCtxSynchronize");	/* the adapter does not wait for the GPU */
	return ptr;
}

static void need_in_gpu(CUdeviceptr ptr, unsigned char value)
{
	static unsigned char bytes[BYTES];

	cuda(cuMemcpyDtoH(bytes, ptr, BYTES), "cuMemcpyDtoH");
	errno = EIO;
	need(bytes[0] == value && !memcmp(bytes, bytes + 1, BYTES - 1), "the copy has wrong bytes");
}

static int call(int mr, enum ib_peer_op op, struct ib_peer *arg)
{
	arg->op = op;
	return ioctl(mr, IB_PEER_IOC, arg);
}

/* ibv_reg_mr(); the adapter may use the memory until the file is closed */
static int reg_mr(CUdeviceptr ptr)
{
	struct ib_peer arg = { .addr = ptr, .length = BYTES, .device = IB_PEER_CHIP };
	int mr = open("/dev/ib_peer_shim", O_RDWR | O_CLOEXEC);

	need(mr >= 0, "/dev/ib_peer_shim");
	need(!call(mr, IB_PEER_REGISTER, &arg), "register");
	return mr;
}

/* an RDMA write, from one registration to another */
static int rdma_write(int to, int from)
{
	struct ib_peer arg = { .from = from, .length = BYTES };

	return call(to, IB_PEER_COPY, &arg);
}

static struct ib_peer state_of(int mr)
{
	struct ib_peer arg = { 0 };

	need(!call(mr, IB_PEER_STATE, &arg), "state");
	return arg;
}

int main(void)
{
	CUdeviceptr src, dst;
	int from, to;
	CUcontext ctx;

	cuda(cuInit(0), "cuInit");
	cuda(cuDevicePrimaryCtxRetain(&ctx, 0), "cuDevicePrimaryCtxRetain");
	cuda(cuCtxSetCurrent(ctx), "cuCtxSetCurrent");
	src = gpu_memory(0x5a);
	dst = gpu_memory(0);
	from = reg_mr(src);
	to = reg_mr(dst);
	printf("registered %d bytes of GPU memory twice, by the client \"%s\"\n", BYTES, state_of(to).out_name);

	need(!rdma_write(to, from), "copy");
	need_in_gpu(dst, 0x5a);
	printf("the adapter copied them, from GPU memory to GPU memory\n");

	cuda(cuMemFree(src), "cuMemFree");
	if (state_of(from).out_told) {
		need(rdma_write(to, from) && errno == ESTALE, "copied freed memory");
		printf("freed: the registration is invalid, and the adapter refused to use it\n");
	} else {
		need(!rdma_write(to, from), "copy");
		printf("freed: the registration keeps the memory until it ends\n");
	}
	close(from);
	close(to);
	puts("ibpeer_example: OK");
	return 0;
}
