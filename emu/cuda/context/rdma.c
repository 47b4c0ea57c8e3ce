// SPDX-License-Identifier: MIT
/*
 * rdma: CUDA functions for access to GPU memory by other devices; the kernel does the pinning. As
 * with NVIDIA's driver, any GPU memory can be exported as a dma-buf, even memory that
 * nvidia_p2p_get_pages() refuses. A range may span neighbouring mappings of cuMemMap(), as on an H200 with driver
 * 580. VMM memory can be exported only while some GPU has access.
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

static bool lies_in(CUdeviceptr outer, size_t outer_size, CUdeviceptr addr, size_t size)
{
	return addr >= outer && addr - outer <= outer_size && size <= outer_size - (addr - outer);
}

/* The range may include gaps between small allocations, but must lie in their block. */
static bool is_in_one_block(const struct alloc_info *any, CUdeviceptr addr, size_t size)
{
	return !alloc_on_cpu(any) && lies_in(any->mapping, any->mapping_size, addr, size);
}

static bool is_of_neighbouring_mappings(CUdeviceptr addr, size_t size)
{
	const struct alloc_info *info;
	size_t n;

	for (; size; size -= n, addr += n) {
		info = alloc_overlap(addr, 1);
		if (!info || info->kind != ALLOC_VMM)
			return false;
		n = info->addr + info->size - addr;
		n = n < size ? n : size;
	}
	return true;
}

static bool is_exportable(CUdeviceptr addr, size_t size)
{
	const struct alloc_info *any;
	bool is;

	lib_lock();
	any = alloc_overlap(addr, size);
	is = any && (is_in_one_block(any, addr, size) || is_of_neighbouring_mappings(addr, size));
	lib_unlock();
	return is;
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
	if (!is_exportable(addr, size))
		return CUDA_ERROR_INVALID_VALUE;
	return ctx_why(ctx, node_export(addr, size, flags ? EMUGPU_EXPORT_PCIE : 0, handle));
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
