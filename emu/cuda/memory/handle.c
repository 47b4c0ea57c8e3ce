// SPDX-License-Identifier: MIT
#include "handle.h"

#include "alloc.h"
#include "emu/cuda/context/device.h"
#include "emu/cuda/context/init.h"
#include "emu/cuda/context/node.h"
#include "emu/cuda/context/set.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct set memories;

void vmm_lock(void)
{
	pthread_mutex_lock(&mutex);
}

void vmm_unlock(void)
{
	pthread_mutex_unlock(&mutex);
}

struct memory *handle_find(CUmemGenericAllocationHandle handle)
{
	struct memory *m = (struct memory *)(uintptr_t)handle;

	return set_has(&memories, m) && m->handles ? m : NULL;
}

CUmemGenericAllocationHandle handle_get(struct memory *m)
{
	m->handles++;
	return (uintptr_t)m;
}

CUresult handle_drop(struct memory *m)
{
	CUresult err;

	if (m->handles || m->mappings)
		return CUDA_SUCCESS;
	err = node_drop(m->kernel_memory);
	set_remove(&memories, m);
	free(m);
	return err;
}

/* ---- valid properties -------------------------------------------------------------- */

bool handle_is_location(const CUmemLocation *location)
{
	return location->type == CU_MEM_LOCATION_TYPE_DEVICE && device_get(location->id);
}

bool handle_is_host(const CUmemLocation *location)
{
	return location->type == CU_MEM_LOCATION_TYPE_HOST || location->type == CU_MEM_LOCATION_TYPE_HOST_NUMA ||
	       location->type == CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT;
}

static CUresult check_prop(const CUmemAllocationProp *prop)
{
	if (!prop || prop->type != CU_MEM_ALLOCATION_TYPE_PINNED || prop->win32HandleMetaData || prop->allocFlags.usage)
		return CUDA_ERROR_INVALID_VALUE;
	if (prop->requestedHandleTypes != CU_MEM_HANDLE_TYPE_NONE || handle_is_host(&prop->location))
		return CUDA_ERROR_NOT_SUPPORTED;
	if (prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
		return CUDA_ERROR_INVALID_VALUE;
	return handle_is_location(&prop->location) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

/* The granularity is the same for all memory, even if cuMemCreate() refuses @prop, as in NVIDIA's driver. */
CUresult cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *prop,
				       CUmemAllocationGranularity_flags option)
{
	CUresult err = lib_ready();

	if (err)
		return err;
	if (!granularity || !prop ||
	    (option != CU_MEM_ALLOC_GRANULARITY_MINIMUM && option != CU_MEM_ALLOC_GRANULARITY_RECOMMENDED))
		return CUDA_ERROR_INVALID_VALUE;
	*granularity = EMUGPU_BLOCK_SIZE;
	return CUDA_SUCCESS;
}

/* ---- making and releasing ---------------------------------------------------------- */

static unsigned long long new_id(void)
{
	unsigned long long id;

	lib_lock();
	id = alloc_new_id();
	lib_unlock();
	return id;
}

/* Compression is only a hint, and ignored. */
static struct memory *new_memory(size_t size, const CUmemAllocationProp *prop)
{
	struct memory *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->size = size;
	m->prop = *prop;
	m->prop.allocFlags.compressionType = 0;
	m->id = new_id();
	return m;
}

static CUresult create(CUmemGenericAllocationHandle *handle, size_t size, const CUmemAllocationProp *prop)
{
	struct memory *m = new_memory(size, prop);
	CUresult err;

	if (!m)
		return CUDA_ERROR_OUT_OF_MEMORY;
	err = node_memory(device_gpu(prop->location.id), size, &m->kernel_memory);
	if (err)
		goto err_free;
	err = CUDA_ERROR_OUT_OF_MEMORY;
	if (!set_add(&memories, m))
		goto err_drop;
	*handle = handle_get(m);
	return CUDA_SUCCESS;

err_drop:
	node_drop(m->kernel_memory);
err_free:
	free(m);
	return err;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size, const CUmemAllocationProp *prop,
		     unsigned long long flags)
{
	CUresult err = lib_ready();

	if (!err)
		err = check_prop(prop);
	if (err)
		return err;
	if (!handle || !size || size % EMUGPU_BLOCK_SIZE || flags)
		return CUDA_ERROR_INVALID_VALUE;
	vmm_lock();
	err = create(handle, size, prop);
	vmm_unlock();
	return err;
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
	CUresult err = lib_ready();
	struct memory *m;

	if (err)
		return err;
	vmm_lock();
	m = handle_find(handle);
	if (m) {
		m->handles--;
		err = handle_drop(m);
	} else {
		err = CUDA_ERROR_INVALID_VALUE;
	}
	vmm_unlock();
	return err;
}

CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *prop, CUmemGenericAllocationHandle handle)
{
	CUresult err = lib_ready();
	struct memory *m;

	if (err)
		return err;
	if (!prop)
		return CUDA_ERROR_INVALID_VALUE;
	vmm_lock();
	m = handle_find(handle);
	if (m)
		*prop = m->prop;
	vmm_unlock();
	return m ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
