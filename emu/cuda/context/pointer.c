// SPDX-License-Identifier: MIT
#include "emu/cuda/memory/alloc.h"
#include "ctx.h"
#include "init.h"
#include "emu/cuda/memory/reserve.h"

#include <emugpu.h>

static void put_int(void *data, int value)
{
	*(int *)data = value;
}

static void put_word(void *data, uint64_t value)
{
	*(uint64_t *)data = value;
}

/* Sets SYNC_MEMOPS of the whole allocation. If @on, waits for its queued copies by functions without Async. */
static CUresult set_sync_memops(const struct alloc_info *info, bool on)
{
	if (!alloc_set_sync_memops(info, on))
		return CUDA_ERROR_INVALID_VALUE;
	if (on)
		engine_settle(info->id);
	return CUDA_SUCCESS;
}

/*
 * Reading the tokens sets SYNC_MEMOPS, because a peer will use the memory. Memory from cuMemAlloc()
 * has the tokens of its context, which give access to all memory of the context. Other GPU memory
 * has token 0, so only its own process can pin it. Newer NVIDIA drivers report 0 for all
 * memory.
 */
static CUresult get_tokens(CUDA_POINTER_ATTRIBUTE_P2P_TOKENS *tokens, const struct alloc_info *info)
{
	if (info->kind == ALLOC_HOST || info->kind == ALLOC_REGISTERED)
		return CUDA_ERROR_INVALID_VALUE;
	tokens->p2pToken = info->kind == ALLOC_DEVICE ? info->ctx->p2p_token : 0;
	tokens->vaSpaceToken = info->kind == ALLOC_DEVICE ? info->ctx->va_space : EMUGPU_VA_SPACE_OF_NONE;
	return set_sync_memops(info, true);
}

static int memory_type(const struct alloc_info *info)
{
	return info->kind == ALLOC_HOST || info->kind == ALLOC_REGISTERED ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
}

/* Attributes of addresses. */
static bool get_place(void *data, CUpointer_attribute attribute, const struct alloc_info *info, CUdeviceptr ptr)
{
	switch (attribute) {
	case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
		put_word(data, info->access ? ptr : 0);
		return true;
	case CU_POINTER_ATTRIBUTE_HOST_POINTER:
		put_word(data, alloc_on_cpu(info) ? ptr : 0);
		return true;
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
		put_word(data, info->range);
		return true;
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
		put_word(data, info->range_size);
		return true;
	case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
		put_word(data, info->mapping);
		return true;
	case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
		put_word(data, info->mapping_size);
		return true;
	default:
		return false;
	}
}

/* Attributes of the kind of memory. */
static bool get_nature(void *data, CUpointer_attribute attribute, const struct alloc_info *info)
{
	switch (attribute) {
	case CU_POINTER_ATTRIBUTE_CONTEXT:
		put_word(data, (uintptr_t)info->ctx);
		return true;
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
		put_int(data, memory_type(info));
		return true;
	case CU_POINTER_ATTRIBUTE_BUFFER_ID:
		put_word(data, info->id);
		return true;
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
		put_int(data, info->kind == ALLOC_MANAGED);
		return true;
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
		put_int(data, info->device);
		return true;
	case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
		put_word(data, (uintptr_t)info->pool);
		return true;
	case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
		put_word(data, info->mapping_id);
		return true;
	default:
		return false;
	}
}

/* Attributes of possible uses; sharing with other processes is not supported. */
static CUresult get_use(void *data, CUpointer_attribute attribute, const struct alloc_info *info)
{
	switch (attribute) {
	case CU_POINTER_ATTRIBUTE_P2P_TOKENS:
		return get_tokens(data, info);
	case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
		put_int(data, info->sync_memops);
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_MAPPED:
		put_int(data, 1);
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
		put_int(data, info->rdma);
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
		put_int(data, info->access);
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
		put_word(data, CU_MEM_HANDLE_TYPE_NONE);
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
	case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
		put_int(data, 0);
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

/* An attribute of an address in an allocation. */
static CUresult get_known(void *data, CUpointer_attribute attribute, const struct alloc_info *info, CUdeviceptr ptr)
{
	if (get_place(data, attribute, info, ptr) || get_nature(data, attribute, info))
		return CUDA_SUCCESS;
	return get_use(data, attribute, info);
}

/*
 * For cuPointerGetAttributes(): an attribute of an address outside all allocations. As in NVIDIA's
 * driver, the address is reported as a host pointer, and the RANGE attributes are stored only if
 * the address is reserved.
 */
static CUresult get_other(void *data, CUpointer_attribute attribute, CUdeviceptr ptr)
{
	CUdeviceptr range;
	size_t range_size;

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
	case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
	case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
	case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
	case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
	case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
		put_word(data, 0);
		break;
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
	case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
	case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
	case CU_POINTER_ATTRIBUTE_MAPPED:
	case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
	case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
	case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
		put_int(data, 0);
		break;
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
		if (reserve_find(ptr, &range, &range_size))
			put_word(data, attribute == CU_POINTER_ATTRIBUTE_RANGE_SIZE ? range_size : range);
		break;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
	return CUDA_SUCCESS;
}

/*
 * Whether the memory has the address that @attribute asks for. A missing address is an error in
 * cuPointerGetAttribute(), but not in cuPointerGetAttributes().
 */
static bool has_address(CUpointer_attribute attribute, const struct alloc_info *info)
{
	switch (attribute) {
	case CU_POINTER_ATTRIBUTE_HOST_POINTER:
		return alloc_on_cpu(info);
	case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
		return info->access;
	default:
		return true;
	}
}

CUresult cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr ptr)
{
	struct alloc_info info;
	CUresult err = lib_ready();

	if (err)
		return err;
	if (!data || !alloc_find(ptr, &info))
		return CUDA_ERROR_INVALID_VALUE;
	err = get_known(data, attribute, &info, ptr);
	return err || has_address(attribute, &info) ? err : CUDA_ERROR_INVALID_VALUE;
}

/* Tokens are not available in cuPointerGetAttributes(). */
static CUresult get_listed(void *data, CUpointer_attribute attribute, const struct alloc_info *info, CUdeviceptr ptr)
{
	if (!data || attribute == CU_POINTER_ATTRIBUTE_P2P_TOKENS)
		return CUDA_ERROR_INVALID_VALUE;
	return info ? get_known(data, attribute, info, ptr) : get_other(data, attribute, ptr);
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

/*
 * Sets SYNC_MEMOPS, except of memory from cuMemCreate(), as in NVIDIA's driver. Reading the tokens
 * sets SYNC_MEMOPS of such memory, too.
 */
static CUresult set_at(CUdeviceptr ptr, bool on)
{
	struct alloc_info info;

	if (!alloc_find(ptr, &info))
		return CUDA_ERROR_INVALID_VALUE;
	if (info.kind == ALLOC_VMM)
		return CUDA_ERROR_NOT_SUPPORTED;
	return set_sync_memops(&info, on);
}

CUresult cuPointerSetAttribute(const void *value, CUpointer_attribute attribute, CUdeviceptr ptr)
{
	CUresult err = lib_ready();

	if (err)
		return err;
	if (!value || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS)
		return CUDA_ERROR_INVALID_VALUE;
	return set_at(ptr, *(const int *)value);
}
