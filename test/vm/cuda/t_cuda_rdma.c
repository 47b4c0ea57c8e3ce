// SPDX-License-Identifier: MIT
/* CUDA calls for peers of GPU memory: dma-buf export and flush. Passes on a real GPU, too. */
#include "cu.h"

#include <errno.h>
#include <fcntl.h>

#define HOST(p) ((CUdeviceptr)(uintptr_t)(p))

enum { SIZE = 4 << 20, PAGE = 4096 };

static CUdeviceptr p;
static char host[2 * PAGE];

SETUP(there_is_memory)
{
	EXPECT(cu_start(0), "no GPU");
	OK(cuMemAlloc(&p, SIZE));
}

static CUresult get_fd(int *fd, CUdeviceptr addr, size_t size)
{
	*fd = -1;
	return cuMemGetHandleForAddressRange(fd, addr, size, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0);
}

CASE(dma_buf_of_a_range)
{
	char path[64], name[64] = "";
	int fd;

	OK(get_fd(&fd, p, SIZE));
	EXPECT(fd >= 0 && fcntl(fd, F_GETFD) >= 0, "%d", fd);
	EXPECT(lseek(fd, 0, SEEK_END) == SIZE, "%ld bytes", (long)lseek(fd, 0, SEEK_END));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	EXPECT(readlink(path, name, sizeof(name) - 1) > 0 && strstr(name, "dmabuf"), "%s", name);
	close(fd);
	OK(get_fd(&fd, p + PAGE, PAGE));
	EXPECT(lseek(fd, 0, SEEK_END) == PAGE, "%ld bytes", (long)lseek(fd, 0, SEEK_END));
	close(fd);
}

CASE(bad_dma_buf_exports_are_refused)
{
	int fd;

	IS(get_fd(&fd, p, 0), CUDA_ERROR_INVALID_VALUE);
	IS(get_fd(&fd, p + 1, PAGE), CUDA_ERROR_INVALID_VALUE);
	IS(get_fd(&fd, p, PAGE + 1), CUDA_ERROR_INVALID_VALUE);
	IS(get_fd(&fd, p + PAGE, SIZE), CUDA_ERROR_INVALID_VALUE);
	IS(get_fd(&fd, HOST(host) & -PAGE, PAGE), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemGetHandleForAddressRange(NULL, p, SIZE, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0),
	   CUDA_ERROR_INVALID_VALUE);
	IS(cuMemGetHandleForAddressRange(&fd, p, SIZE, (CUmemRangeHandleType)99, 0), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemGetHandleForAddressRange(&fd, p, SIZE, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 2),
	   CUDA_ERROR_INVALID_VALUE);
	fd = 77;
	IS(cuMemGetHandleForAddressRange(&fd, p, SIZE, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD,
					 CU_MEM_RANGE_FLAG_DMA_BUF_MAPPING_TYPE_PCIE), CUDA_ERROR_NOT_SUPPORTED);
	EXPECT(fd == -1, "%d", fd);
	fd = 77;
	IS(get_fd(&fd, HOST(host) & -PAGE, PAGE), CUDA_ERROR_INVALID_VALUE);
	EXPECT(fd == -1, "%d", fd);
}

CASE(a_dma_buf_outlives_the_allocation)
{
	size_t before, between, after, total;
	CUdeviceptr q;
	int fd;

	OK(cuMemGetInfo(&before, &total));
	OK(cuMemAlloc(&q, SIZE));
	OK(get_fd(&fd, q, SIZE));
	OK(cuMemFree(q));
	OK(cuMemGetInfo(&between, &total));
	EXPECT(lseek(fd, 0, SEEK_END) == SIZE, "%ld bytes", (long)lseek(fd, 0, SEEK_END));
	close(fd);
	OK(cuMemGetInfo(&after, &total));
	if (!cu_emulated())
		return;
	EXPECT(before - between == SIZE, "%zu before, %zu with a dma-buf of freed memory", before, between);
	EXPECT(before == after, "%zu before, %zu after", before, after);
}

CASE(flush_of_rdma_writes)
{
	const CUflushGPUDirectRDMAWritesTarget ctx = CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX;

	OK(cuFlushGPUDirectRDMAWrites(ctx, CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER));
	OK(cuFlushGPUDirectRDMAWrites(ctx, CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_ALL_DEVICES));
	IS(cuFlushGPUDirectRDMAWrites(ctx, (CUflushGPUDirectRDMAWritesScope)1), CUDA_ERROR_INVALID_VALUE);
	IS(cuFlushGPUDirectRDMAWrites((CUflushGPUDirectRDMAWritesTarget)7, CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER),
	   CUDA_ERROR_INVALID_VALUE);
	OK(cuCtxSetCurrent(NULL));
	IS(cuFlushGPUDirectRDMAWrites(ctx, CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER), CUDA_ERROR_INVALID_CONTEXT);
	EXPECT(cu_start(0), "no context");
}

VMTEST_MAIN
