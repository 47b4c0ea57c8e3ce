// SPDX-License-Identifier: MIT
/*
 * rdma: CUDA functions for access to GPU memory by other devices; the kernel does the pinning. As
 * with NVIDIA's driver, any GPU memory can be exported as a dma-buf, even memory that
 * nvidia_p2p_get_pages() refuses. Unlike with NVIDIA's driver, the range must lie in one block. VMM
 * memory has a block only while some GPU has access.
 */
#include "emu/cuda/memory/alloc.h"
#include "emu/version/version.h"
#include "init.h"
#include "node.h"

#include <unistd.h>

static bool is_whole_pages(CUdeviceptr addr, size_t size)
{
	return size && (addr | size) % sysconf(_SC_PAGESIZE) == 0;
}

static CUresult export_range(int *fd, CUdeviceptr addr, size_t size, unsigned int flags)
{
	bool known;

	/* the range may include gaps between small allocations, but must lie in their block */
	lib_lock();
	known = alloc_overlap(addr, size) && !alloc_on_cpu(alloc_overlap(addr, size));
	lib_unlock();
	return known ? node_export(addr, size, flags, fd) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemGetHandleForAddressRange(void *handle, CUdeviceptr addr, size_t size, CUmemRangeHandleType type,
				       unsigned long long flags)
{
	/* the flag is new in CUDA 12.8 */
	const unsigned long long known =
		driver_version()->cuda >= 12080 ? CU_MEM_RANGE_FLAG_DMA_BUF_MAPPING_TYPE_PCIE : 0;
	struct CUctx_st *ctx;
	CUresult err = ctx_enter(&ctx);

	if (err)
		return err;
	if (!handle || type != CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD || flags & ~known || !is_whole_pages(addr, size))
		return CUDA_ERROR_INVALID_VALUE;
	*(int *)handle = -1;
	return ctx_why(ctx, export_range(handle, addr, size, flags ? EMUGPU_EXPORT_PCIE : 0));
}

CUresult cuFlushGPUDirectRDMAWrites(CUflushGPUDirectRDMAWritesTarget target, CUflushGPUDirectRDMAWritesScope scope)
{
	struct CUctx_st *ctx;
	CUresult err = ctx_enter(&ctx);

	if (err)
		return err;
	if (target != CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX)
		return CUDA_ERROR_INVALID_VALUE;
	switch (scope) {
	case CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER:
	case CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_ALL_DEVICES:
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}
