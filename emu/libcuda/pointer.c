// SPDX-License-Identifier: MIT
#include "alloc.h"
#include "ctx.h"
#include "init.h"

static void put_int(void *data, int value)
{
	*(int *)data = value;
}

static void put_word(void *data, uint64_t value)
{
	*(uint64_t *)data = value;
}

/* An attribute of an address in GPU memory. */
static CUresult get_gpu(void *data, CUpointer_attribute attribute, const struct alloc_info *info, CUdeviceptr ptr)
{
	switch (attribute) {
	case CU_POINTER_ATTRIBUTE_CONTEXT:
		put_word(data, (uintptr_t)info->ctx);
		break;
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
		put_int(data, CU_MEMORYTYPE_DEVICE);
		break;
	case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
		put_word(data, ptr);
		break;
	case CU_POINTER_ATTRIBUTE_HOST_POINTER:
	case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE: /* there are no pools */
		put_word(data, 0);
		break;
	case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
		put_int(data, info->sync_memops);
		break;
	case CU_POINTER_ATTRIBUTE_BUFFER_ID:
		put_word(data, info->id);
		break;
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
		put_int(data, 0);
		break;
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
		put_int(data, ctx_device(info->ctx));
		break;
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
		put_word(data, info->addr);
		break;
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
		put_word(data, info->size);
		break;
	case CU_POINTER_ATTRIBUTE_MAPPED:
	case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
		put_int(data, 1);
		break;
	case CU_POINTER_ATTRIBUTE_P2P_TOKENS:
		return CUDA_ERROR_NOT_SUPPORTED;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
	return CUDA_SUCCESS;
}

/*
 * What cuPointerGetAttributes() says of any other address, as the real driver
 * does: it takes it for a host pointer, and leaves the range as it was.
 */
static CUresult get_other(void *data, CUpointer_attribute attribute, CUdeviceptr ptr)
{
	switch (attribute) {
	case CU_POINTER_ATTRIBUTE_HOST_POINTER:
		put_word(data, ptr);
		break;
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
		put_int(data, CU_DEVICE_INVALID);
		break;
	case CU_POINTER_ATTRIBUTE_CONTEXT:
	case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
	case CU_POINTER_ATTRIBUTE_BUFFER_ID:
	case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
		put_word(data, 0);
		break;
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
	case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
	case CU_POINTER_ATTRIBUTE_MAPPED:
	case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
		put_int(data, 0);
		break;
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
		break;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
	return CUDA_SUCCESS;
}

CUresult cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr ptr)
{
	struct alloc_info info;
	CUresult err = lib_ready();

	if (err)
		return err;
	if (!data || !alloc_find(ptr, &info))
		return CUDA_ERROR_INVALID_VALUE;
	err = get_gpu(data, attribute, &info, ptr);
	/* only here: in a list of attributes it is no error */
	if (!err && attribute == CU_POINTER_ATTRIBUTE_HOST_POINTER)
		return CUDA_ERROR_INVALID_VALUE;
	return err;
}

/* Tokens cannot be asked for in a list. */
static CUresult get_listed(void *data, CUpointer_attribute attribute, const struct alloc_info *info, CUdeviceptr ptr)
{
	if (!data || attribute == CU_POINTER_ATTRIBUTE_P2P_TOKENS)
		return CUDA_ERROR_INVALID_VALUE;
	return info ? get_gpu(data, attribute, info, ptr) : get_other(data, attribute, ptr);
}

CUresult cuPointerGetAttributes(unsigned int n, CUpointer_attribute *attributes, void **data, CUdeviceptr ptr)
{
	struct alloc_info info;
	CUresult err = lib_ready();
	bool found;

	if (err)
		return err;
	if (!n || !attributes || !data)
		return CUDA_ERROR_INVALID_VALUE;
	found = alloc_find(ptr, &info);
	for (unsigned int i = 0; i < n && !err; i++)
		err = get_listed(data[i], attributes[i], found ? &info : NULL, ptr);
	return err;
}

CUresult cuPointerSetAttribute(const void *value, CUpointer_attribute attribute, CUdeviceptr ptr)
{
	CUresult err = lib_ready();

	if (err)
		return err;
	if (!value || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS)
		return CUDA_ERROR_INVALID_VALUE;
	return alloc_set_sync_memops(ptr, *(const int *)value) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
