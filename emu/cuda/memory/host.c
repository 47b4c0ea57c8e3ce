// SPDX-License-Identifier: MIT
/* host: host memory that the GPU can access. With unified addressing, CPU and GPU use the same address. */
#include "alloc.h"
#include "emu/cuda/export.h"
#include "emu/cuda/context/init.h"
#include "mem.h"

#include <sys/mman.h>
#include <unistd.h>

static const unsigned int alloc_flags =
	CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;

/* An allocation of 0 bytes is NULL, which cuMemFreeHost() accepts. */
CUresult cuMemHostAlloc(void **out, size_t size, unsigned int flags)
{
	struct CUctx_st *ctx;
	CUresult err = ctx_enter(&ctx);
	CUdeviceptr addr;

	if (err)
		return err;
	if (!out || flags & ~alloc_flags)
		return CUDA_ERROR_INVALID_VALUE;
	*out = NULL;
	err = size ? mem_alloc(ALLOC_HOST, size, flags, &addr) : CUDA_SUCCESS;
	if (!err && size)
		*out = (void *)(uintptr_t)addr;
	return err;
}

CUresult cuMemAllocHost(void **out, size_t size)
{
	return cuMemHostAlloc(out, size, 0);
}

CUresult cuMemFreeHost(void *p)
{
	CUresult err = ctx_enter_any();

	if (err || !p)
		return err;
	return mem_free((uintptr_t)p, 1 << ALLOC_HOST);
}

static CUresult find_host(const void *p, struct alloc_info *info)
{
	struct CUctx_st *ctx;
	CUresult err = ctx_enter(&ctx);

	if (err)
		return err;
	if (!alloc_find((uintptr_t)p, info) || (info->kind != ALLOC_HOST && info->kind != ALLOC_REGISTERED))
		return ctx_why(ctx, CUDA_ERROR_INVALID_VALUE);
	return CUDA_SUCCESS;
}

CUresult cuMemHostGetDevicePointer(CUdeviceptr *out, void *p, unsigned int flags)
{
	struct alloc_info info;
	CUresult err = find_host(p, &info);

	if (err)
		return err;
	if (!out || flags)
		return CUDA_ERROR_INVALID_VALUE;
	*out = (uintptr_t)p;
	return CUDA_SUCCESS;
}

/* Always reports DEVICEMAP: with unified addressing, all host memory is mapped for the GPU. */
CUresult cuMemHostGetFlags(unsigned int *flags, void *p)
{
	struct alloc_info info;
	CUresult err = find_host(p, &info);

	if (err)
		return err;
	if (!flags)
		return CUDA_ERROR_INVALID_VALUE;
	*flags = (info.flags & alloc_flags) | CU_MEMHOSTALLOC_DEVICEMAP;
	return CUDA_SUCCESS;
}

/* ---- memory of the program ----------------------------------------------------- */

/* Faults the pages in: for reading if READ_ONLY, else for writing. Fails for invalid memory, as page-locking does. */
static CUresult populate(uintptr_t begin, size_t size, unsigned int flags)
{
	const int advice = flags & CU_MEMHOSTREGISTER_READ_ONLY ? MADV_POPULATE_READ : MADV_POPULATE_WRITE;
	uintptr_t mask = sysconf(_SC_PAGESIZE) - 1;
	uintptr_t first = begin & ~mask;

	return madvise((void *)first, begin + size - first, advice) ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

static CUresult check_not_known(uintptr_t begin, size_t size)
{
	const struct alloc_info *info;
	CUresult err = CUDA_SUCCESS;

	lib_lock();
	info = alloc_overlap(begin, size);
	if (info)
		err = info->kind == ALLOC_HOST || info->kind == ALLOC_REGISTERED ?
			      CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED :
			      CUDA_ERROR_INVALID_VALUE;
	lib_unlock();
	return err;
}

static CUresult check_registration(uintptr_t begin, size_t size, unsigned int flags)
{
	const unsigned int absent = CU_MEMHOSTREGISTER_IOMEMORY;
	const unsigned int known = absent | CU_MEMHOSTREGISTER_READ_ONLY | CU_MEMHOSTREGISTER_PORTABLE |
				   CU_MEMHOSTREGISTER_DEVICEMAP;
	CUresult err;

	if (!begin || !size || size > SIZE_MAX - begin || flags & ~known)
		return CUDA_ERROR_INVALID_VALUE;
	if (flags & absent)
		return CUDA_ERROR_NOT_SUPPORTED;
	err = check_not_known(begin, size);
	return err ? err : populate(begin, size, flags);
}

CUresult cuMemHostRegister(void *p, size_t size, unsigned int flags)
{
	struct alloc_info want = { .kind = ALLOC_REGISTERED, .addr = (uintptr_t)p, .size = size, .flags = flags };
	CUresult err = ctx_enter(&want.ctx), known;
	CUdeviceptr addr;

	if (err)
		return err;
	err = check_registration(want.addr, size, flags);
	if (err)
		return err;
	want.device = ctx_device(want.ctx);
	err = heap_alloc(&want, &addr);
	/* another thread may have registered the memory meanwhile */
	known = err ? check_not_known(want.addr, size) : CUDA_SUCCESS;
	return known ? known : err;
}

/* The error for memory at @p that cannot be unregistered */
static CUresult why_not_registered(uintptr_t p)
{
	struct alloc_info info;

	return alloc_find(p, &info) ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
}

CUresult cuMemHostUnregister(void *p)
{
	CUresult err = ctx_enter_any();

	if (err)
		return err;
	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	err = mem_free((uintptr_t)p, 1 << ALLOC_REGISTERED);
	return err == CUDA_ERROR_INVALID_VALUE ? why_not_registered((uintptr_t)p) : err;
}

#undef cuMemHostRegister
ALIAS(cuMemHostRegister, cuMemHostRegister_v2);
