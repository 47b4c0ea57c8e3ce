// SPDX-License-Identifier: MIT
/*
 * managed: managed memory. On a GPU, managed memory migrates to the processor that accesses it.
 * In the emulator it stays host memory, and the CPU executes all copies. Peers cannot pin managed
 * memory; tests check that programs refuse managed memory.
 */
#include "alloc.h"
#include "emu/cuda/context/init.h"
#include "mem.h"

CUresult cuMemAllocManaged(CUdeviceptr *out, size_t size, unsigned int flags)
{
	struct CUctx_st *ctx;
	CUresult err = ctx_enter(&ctx);

	if (err)
		return err;
	if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST)
		return CUDA_ERROR_INVALID_VALUE;
	return mem_alloc(ALLOC_MANAGED, size, 0, out);
}

/* Returns the default values: the functions that set advice are not supported. */
static CUresult get(void *data, size_t size, CUmem_range_attribute attribute)
{
	int *values = data;

	if (!data || !size || size % sizeof(*values))
		return CUDA_ERROR_INVALID_VALUE;
	switch (attribute) {
	case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY:
		*values = 0;
		return size == sizeof(*values) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
	case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION:
	case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION:
		*values = CU_DEVICE_INVALID;
		return size == sizeof(*values) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
	case CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY:
		for (size_t i = 0; i < size / sizeof(*values); i++)
			values[i] = CU_DEVICE_INVALID;
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

/* The whole range must be managed memory. */
static CUresult check(CUdeviceptr addr, size_t count)
{
	struct alloc_info info;
	CUresult err = lib_ready();

	if (err)
		return err;
	if (!count || !alloc_find(addr, &info) || info.kind != ALLOC_MANAGED)
		return CUDA_ERROR_INVALID_VALUE;
	return count <= info.size - (addr - info.addr) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemRangeGetAttribute(void *data, size_t size, CUmem_range_attribute attribute, CUdeviceptr addr,
				size_t count)
{
	CUresult err = check(addr, count);

	return err ? err : get(data, size, attribute);
}

CUresult cuMemRangeGetAttributes(void **data, size_t *sizes, CUmem_range_attribute *attributes, size_t n,
				 CUdeviceptr addr, size_t count)
{
	CUresult err = check(addr, count);

	if (err)
		return err;
	if (!data || !sizes || !attributes || !n)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < n && !err; i++)
		err = get(data[i], sizes[i], attributes[i]);
	return err;
}
