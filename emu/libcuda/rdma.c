// SPDX-License-Identifier: MIT
/*
 * rdma: what CUDA offers to those who let other devices at GPU memory. Pinning
 * is the kernel's. Any memory of the GPU can be exported, as by the real
 * driver, also what nvidia_p2p_get_pages() refuses. Other than there, the range
 * lies in one block, and VMM memory has none before some GPU has access.
 */
#include "alloc.h"
#include "init.h"
#include "node.h"

#include <unistd.h>

static CUresult export_range(int *fd, CUdeviceptr addr, size_t size)
{
	const size_t page = sysconf(_SC_PAGESIZE);
	struct alloc_info info;

	if (!size || (addr | size) % page)
		return CUDA_ERROR_INVALID_VALUE;
	*fd = -1;
	if (!alloc_find(addr, &info) || alloc_on_cpu(&info))
		return CUDA_ERROR_INVALID_VALUE;
	return node_export(addr, size, fd);
}

CUresult cuMemGetHandleForAddressRange(void *handle, CUdeviceptr addr, size_t size, CUmemRangeHandleType type,
				       unsigned long long flags)
{
	struct CUctx_st *ctx;
	CUresult err = ctx_enter(&ctx);

	if (err)
		return err;
	if (!handle || type != CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD)
		return CUDA_ERROR_INVALID_VALUE;
	if (flags)
		return flags == CU_MEM_RANGE_FLAG_DMA_BUF_MAPPING_TYPE_PCIE ? CUDA_ERROR_NOT_SUPPORTED :
									      CUDA_ERROR_INVALID_VALUE;
	return export_range(handle, addr, size);
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
