// SPDX-License-Identifier: MIT
#include "pool.h"

#include "emu/cuda/context/ctx.h"
#include "emu/cuda/context/device.h"
#include "handle.h"
#include "emu/cuda/context/init.h"
#include "emu/cuda/context/set.h"

#include <stdlib.h>

enum { MOST_GRAIN = 32 << 20 };

/* Under the library lock. A default pool is set up at its first use. */
static struct CUmemPoolHandle_st defaults[MAX_DEVICES];
static CUmemoryPool chosen[MAX_DEVICES];
static struct set made;

static void set_up(CUmemoryPool pool, CUdevice device)
{
	pool->device = device;
	for (unsigned int i = 0; i < sizeof(pool->reuse) / sizeof(pool->reuse[0]); i++)
		pool->reuse[i] = 1;
	heap_open(&pool->heap);
}

static bool is_default(const struct CUmemPoolHandle_st *pool)
{
	for (int i = 0; i < device_count(); i++)
		if (pool == &defaults[i])
			return true;
	return false;
}

static CUmemoryPool default_of(CUdevice device)
{
	if (!defaults[device].heap.open)
		set_up(&defaults[device], device);
	return &defaults[device];
}

static bool is_handle(const struct CUmemPoolHandle_st *pool)
{
	return (is_default(pool) && pool->heap.open) || set_has(&made, pool);
}

CUresult pool_get(CUmemoryPool pool)
{
	CUresult err = CUDA_SUCCESS;

	lib_lock();
	if (is_handle(pool))
		pool->users++;
	else
		err = CUDA_ERROR_INVALID_VALUE;
	lib_unlock();
	return err;
}

CUmemoryPool pool_of_device(CUdevice device)
{
	CUmemoryPool pool;

	lib_lock();
	pool = chosen[device] ? chosen[device] : default_of(device);
	pool->users++;
	lib_unlock();
	return pool;
}

/* Dropping the last reference to a destroyed pool frees the pool: no other thread can reach it then. */
void pool_put(CUmemoryPool pool)
{
	bool last;

	lib_lock();
	last = !--pool->users && pool->dead;
	lib_unlock();
	if (!last)
		return;
	heap_trim(&pool->heap, 0);
	free(pool);
}

/* ---- pools of a device --------------------------------------------------------- */

static CUresult check_device(const void *out, CUdevice device)
{
	CUresult err = lib_ready();

	if (err)
		return err;
	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	return device_get(device) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *out, CUdevice device)
{
	CUresult err = check_device(out, device);

	if (err)
		return err;
	lib_lock();
	*out = default_of(device);
	lib_unlock();
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetMemPool(CUmemoryPool *out, CUdevice device)
{
	CUresult err = check_device(out, device);

	if (err)
		return err;
	*out = pool_of_device(device);
	pool_put(*out);
	return CUDA_SUCCESS;
}

CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool)
{
	CUresult err = check_device(pool, device);

	if (err)
		return err;
	lib_lock();
	if (is_handle(pool) && pool->device == device)
		chosen[device] = pool;
	else
		err = CUDA_ERROR_INVALID_VALUE;
	lib_unlock();
	return err;
}

/* ---- pools made by the program --------------------------------------------------- */

static CUresult check_props(const CUmemPoolProps *props)
{
	if (!props || props->allocType != CU_MEM_ALLOCATION_TYPE_PINNED || props->win32SecurityAttributes)
		return CUDA_ERROR_INVALID_VALUE;
	if (props->handleTypes != CU_MEM_HANDLE_TYPE_NONE || handle_is_host(&props->location))
		return CUDA_ERROR_NOT_SUPPORTED;
	return handle_is_location(&props->location) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* The limit of a pool's size, rounded up as on an H200 with driver 580; 0: no limit */
static uint64_t most_of(const CUmemPoolProps *props)
{
	return props->maxSize > SIZE_MAX - MOST_GRAIN ? 0 : (props->maxSize + MOST_GRAIN - 1) / MOST_GRAIN * MOST_GRAIN;
}

CUresult cuMemPoolCreate(CUmemoryPool *out, const CUmemPoolProps *props)
{
	CUmemoryPool pool;
	CUresult err = lib_ready();
	bool added;

	if (!err)
		err = out ? check_props(props) : CUDA_ERROR_INVALID_VALUE;
	if (err)
		return err;
	pool = calloc(1, sizeof(*pool));
	if (!pool)
		return CUDA_ERROR_OUT_OF_MEMORY;
	set_up(pool, props->location.id);
	pool->heap.most = most_of(props);
	lib_lock();
	added = set_add(&made, pool);
	lib_unlock();
	if (!added) {
		free(pool);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*out = pool;
	return CUDA_SUCCESS;
}

/* The pool's allocations stay. If the pool is the current pool of its device, the default pool becomes current. */
CUresult cuMemPoolDestroy(CUmemoryPool pool)
{
	CUresult err = lib_ready();

	if (err)
		return err;
	lib_lock();
	if (!set_has(&made, pool)) {
		lib_unlock();
		return CUDA_ERROR_INVALID_VALUE;
	}
	set_remove(&made, pool);
	if (chosen[pool->device] == pool)
		chosen[pool->device] = NULL;
	pool->dead = true;
	pool->heap.keep = 0;
	pool->users++;
	lib_unlock();
	pool_put(pool);
	return CUDA_SUCCESS;
}

/* Frees unused memory at once, down to @keep bytes. */
CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t keep)
{
	CUresult err = lib_ready();

	if (!err)
		err = pool_get(pool);
	if (err)
		return err;
	heap_trim(&pool->heap, keep);
	pool_put(pool);
	return CUDA_SUCCESS;
}

/* ---- attributes ------------------------------------------------------------------ */

static CUresult get(const struct CUmemPoolHandle_st *pool, CUmemPool_attribute attribute, void *value)
{
	const struct heap *heap = &pool->heap;

	switch (attribute) {
	case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
		*(int *)value = pool->reuse[attribute - CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES];
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
		*(cuuint64_t *)value = heap->keep;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
		*(cuuint64_t *)value = heap->reserved;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
		*(cuuint64_t *)value = heap->reserved_high;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
		*(cuuint64_t *)value = heap->used;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
		*(cuuint64_t *)value = heap->used_high;
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

/* Writing 0 resets a high-water mark to the present value. All other values are invalid. */
static CUresult reset(uint64_t *high, uint64_t now, const void *value)
{
	if (*(const cuuint64_t *)value)
		return CUDA_ERROR_INVALID_VALUE;
	*high = now;
	return CUDA_SUCCESS;
}

static CUresult set(CUmemoryPool pool, CUmemPool_attribute attribute, const void *value)
{
	struct heap *heap = &pool->heap;

	switch (attribute) {
	case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
		pool->reuse[attribute - CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES] = !!*(const int *)value;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
		heap->keep = *(const cuuint64_t *)value;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
		return reset(&heap->reserved_high, heap->reserved, value);
	case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
		return reset(&heap->used_high, heap->used, value);
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value)
{
	CUresult err = lib_ready();

	if (err)
		return err;
	lib_lock();
	err = value && is_handle(pool) ? get(pool, attribute, value) : CUDA_ERROR_INVALID_VALUE;
	lib_unlock();
	return err;
}

CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value)
{
	CUresult err = lib_ready();

	if (err)
		return err;
	lib_lock();
	err = value && is_handle(pool) ? set(pool, attribute, value) : CUDA_ERROR_INVALID_VALUE;
	lib_unlock();
	return err;
}

/* ---- access: every emulated GPU reaches the memory of all ----------------------------- */

static CUresult check_access(const struct CUmemPoolHandle_st *pool, const CUmemAccessDesc *desc)
{
	if (!handle_is_location(&desc->location))
		return CUDA_ERROR_INVALID_VALUE;
	if (desc->flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
		return CUDA_SUCCESS;
	/* the pool's own GPU cannot lose access, as in NVIDIA's driver */
	if (desc->flags == CU_MEM_ACCESS_FLAGS_PROT_NONE && desc->location.id == pool->device)
		return CUDA_ERROR_INVALID_DEVICE;
	return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *map, size_t count)
{
	CUresult err = lib_ready();

	if (err)
		return err;
	if (!map || !count)
		return CUDA_ERROR_INVALID_VALUE;
	err = pool_get(pool);
	if (err)
		return err;
	for (size_t i = 0; i < count && !err; i++)
		err = check_access(pool, &map[i]);
	pool_put(pool);
	return err;
}

CUresult cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool pool, CUmemLocation *location)
{
	CUresult err = lib_ready();

	if (err)
		return err;
	if (!flags || !location || location->type != CU_MEM_LOCATION_TYPE_DEVICE || !device_get(location->id))
		return CUDA_ERROR_INVALID_VALUE;
	err = pool_get(pool);
	if (err)
		return err;
	*flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
	pool_put(pool);
	return CUDA_SUCCESS;
}
