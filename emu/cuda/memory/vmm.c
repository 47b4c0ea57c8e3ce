// SPDX-License-Identifier: MIT
/*
 * vmm: memory mapped at reserved addresses. The kernel has a block for a mapping as long as some
 * GPU has access to the mapping. Removing the last access revokes the pins of peers, as unmapping
 * does.
 */
#include "alloc.h"
#include "emu/cuda/context/device.h"
#include "handle.h"
#include "emu/cuda/context/init.h"
#include "emu/cuda/context/node.h"
#include "reserve.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

enum {
	UNIT = EMUGPU_BLOCK_SIZE,
	GPU_BITS = 2,
	GPU_MASK = CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
};
_Static_assert(MAX_DEVICES * GPU_BITS <= 32, "struct mapping has no room for the access of each GPU");

/**
 * struct mapping - a mapping; under the VMM lock, @info also under the library lock
 * @memory: the mapped memory, always as a whole
 * @access: CUmemAccess_flags of each GPU, two bits each
 */
struct mapping {
	struct memory *memory;
	uint32_t access;
	struct alloc_info info;
};

/* Tests the kind under the library lock: without the lock, an allocation of another kind may be freed meanwhile. */
static struct mapping *find(CUdeviceptr addr)
{
	struct alloc_info *info;
	bool is_mapping;

	lib_lock();
	info = alloc_overlap(addr, 1);
	is_mapping = info && info->kind == ALLOC_VMM;
	lib_unlock();
	return is_mapping ? (struct mapping *)((char *)info - offsetof(struct mapping, info)) : NULL;
}

/* ---- mapping ------------------------------------------------------------------------ */

static struct mapping *new_mapping(CUdeviceptr addr, struct memory *memory)
{
	struct mapping *m = calloc(1, sizeof(*m));
	CUdevice device = memory->prop.location.id;

	if (!m)
		return NULL;
	m->memory = memory;
	m->info = (struct alloc_info){
		.kind = ALLOC_VMM,
		.addr = addr,
		.size = memory->size,
		.device = device,
		.rdma = memory->prop.allocFlags.gpuDirectRDMACapable && !device_get(device)->out_integrated,
		.mapping = addr,
		.mapping_size = memory->size,
		.mapping_id = memory->id,
	};
	return m;
}

/* In a reservation only another mapping can overlap. */
static CUresult add(struct mapping *m)
{
	CUresult err = CUDA_SUCCESS;

	lib_lock();
	if (alloc_overlap(m->info.addr, m->info.size))
		err = CUDA_ERROR_INVALID_VALUE;
	else if (!alloc_add(&m->info))
		err = CUDA_ERROR_OUT_OF_MEMORY;
	lib_unlock();
	return err;
}

/* Whether the range lies in one reservation. Stores the reservation in @info->range and @info->range_size. */
static bool is_reserved(CUdeviceptr addr, size_t size, struct alloc_info *info)
{
	return reserve_range(addr, &info->range, &info->range_size) && size <= info->range_size - (addr - info->range);
}

static CUresult add_in_reservation(struct mapping *m)
{
	return is_reserved(m->info.addr, m->info.size, &m->info) ? add(m) : CUDA_ERROR_INVALID_VALUE;
}

/* Maps only the whole memory, as present NVIDIA drivers do. */
static CUresult map(CUdeviceptr addr, size_t size, size_t offset, struct memory *memory)
{
	struct mapping *m;
	CUresult err;

	if (!memory)
		return CUDA_ERROR_INVALID_VALUE;
	if (offset || size != memory->size)
		return CUDA_ERROR_NOT_SUPPORTED;
	if (addr % UNIT)
		return CUDA_ERROR_INVALID_VALUE;
	m = new_mapping(addr, memory);
	if (!m)
		return CUDA_ERROR_OUT_OF_MEMORY;
	err = add_in_reservation(m);
	if (err)
		free(m);
	else
		memory->mappings++;
	return err;
}

CUresult cuMemMap(CUdeviceptr addr, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
		  unsigned long long flags)
{
	CUresult err = lib_ready();

	if (err)
		return err;
	if (!size || flags)
		return CUDA_ERROR_INVALID_VALUE;
	vmm_lock();
	err = map(addr, size, offset, handle_find(handle));
	vmm_unlock();
	return err;
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *addr)
{
	CUresult err = lib_ready();
	struct mapping *m;

	if (err)
		return err;
	if (!handle)
		return CUDA_ERROR_INVALID_VALUE;
	vmm_lock();
	m = find((uintptr_t)addr);
	if (m)
		*handle = handle_get(m->memory);
	vmm_unlock();
	return m ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* ---- access ------------------------------------------------------------------------- */

static CUresult add_block(const struct mapping *m)
{
	struct emugpu_alloc arg = {
		.gpu = device_gpu(m->info.device),
		.flags = m->info.rdma ? 0 : EMUGPU_ALLOC_NO_P2P,
		.va = m->info.addr,
		.size = m->info.size,
		.memory = m->memory->kernel_memory,
	};

	return node_alloc(&arg);
}

/* The union of the access rights of all GPUs */
static CUmemAccess_flags highest(uint32_t access)
{
	CUmemAccess_flags flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;

	for (; access; access >>= GPU_BITS)
		flags |= access & GPU_MASK;
	return flags;
}

static CUresult set_access(struct mapping *m, uint32_t access)
{
	CUresult err = CUDA_SUCCESS;

	if (access && !m->access)
		err = add_block(m);
	else if (!access && m->access)
		err = node_free(m->info.addr);
	if (err)
		return err;
	m->access = access;
	lib_lock();
	m->info.access = highest(access);
	lib_unlock();
	return CUDA_SUCCESS;
}

static bool is_access(CUmemAccess_flags flags)
{
	return flags == CU_MEM_ACCESS_FLAGS_PROT_NONE || flags == CU_MEM_ACCESS_FLAGS_PROT_READ ||
	       flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
}

static CUresult check_desc(const CUmemAccessDesc *desc, size_t count)
{
	if (!desc || !count)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count; i++) {
		if (handle_is_host(&desc[i].location))
			return CUDA_ERROR_NOT_SUPPORTED;
		if (!handle_is_location(&desc[i].location) || !is_access(desc[i].flags))
			return CUDA_ERROR_INVALID_VALUE;
	}
	return CUDA_SUCCESS;
}

static CUresult apply_desc(struct mapping *m, const CUmemAccessDesc *desc, size_t count)
{
	uint32_t access = m->access;

	for (size_t i = 0; i < count; i++) {
		const int shift = desc[i].location.id * GPU_BITS;

		access &= ~((uint32_t)GPU_MASK << shift);
		access |= (uint32_t)desc[i].flags << shift;
	}
	return set_access(m, access);
}

/* Whether whole mappings fill the range without gaps. */
static bool is_filled(CUdeviceptr addr, size_t size)
{
	const struct mapping *m;

	while (size) {
		m = find(addr);
		if (!m || m->info.addr != addr || m->info.size > size)
			return false;
		addr += m->info.size;
		size -= m->info.size;
	}
	return true;
}

CUresult cuMemSetAccess(CUdeviceptr addr, size_t size, const CUmemAccessDesc *desc, size_t count)
{
	CUresult err = lib_ready();
	struct mapping *m;

	if (!err)
		err = check_desc(desc, count);
	if (err)
		return err;
	vmm_lock();
	if (!size || !is_filled(addr, size))
		err = CUDA_ERROR_INVALID_VALUE;
	for (CUdeviceptr at = addr; !err && at < addr + size; at += m->info.size) {
		m = find(at);
		err = apply_desc(m, desc, count);
	}
	vmm_unlock();
	return err;
}

/* Returns PROT_NONE for memory that is no mapping, even if it is accessible, as in NVIDIA's driver. */
static CUmemAccess_flags access_of(CUdeviceptr addr, CUdevice device)
{
	const struct mapping *m = find(addr);

	return m ? m->access >> device * GPU_BITS & GPU_MASK : CU_MEM_ACCESS_FLAGS_PROT_NONE;
}

CUresult cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location, CUdeviceptr addr)
{
	CUresult err = lib_ready();
	struct alloc_info info;

	if (err)
		return err;
	if (!flags || !location || !handle_is_location(location))
		return CUDA_ERROR_INVALID_VALUE;
	vmm_lock();
	if (alloc_find(addr, &info))
		*flags = access_of(addr, location->id);
	else
		err = CUDA_ERROR_INVALID_VALUE;
	vmm_unlock();
	return err;
}

/* ---- unmapping ---------------------------------------------------------------------- */

/* Removes the mapping from the look-ups before the kernel runs the free callbacks. */
static CUresult unmap(struct mapping *m)
{
	CUresult err, last;

	lib_lock();
	alloc_remove(&m->info);
	lib_unlock();
	err = set_access(m, 0);
	m->memory->mappings--;
	last = handle_drop(m->memory);
	free(m);
	return err ? err : last;
}

/* Whether a mapping extends across an end of the range. */
static bool is_cut(CUdeviceptr addr, size_t size)
{
	const struct mapping *first = find(addr), *last = find(addr + size - 1);

	return (first && first->info.addr < addr) || (last && last->info.addr + last->info.size > addr + size);
}

/* Addresses without a mapping are no error, as in NVIDIA's driver. */
static CUresult unmap_range(CUdeviceptr addr, size_t size)
{
	CUresult err = CUDA_SUCCESS;
	struct alloc_info in;
	struct mapping *m;

	if (!size || (addr | size) % UNIT || !is_reserved(addr, size, &in) || is_cut(addr, size))
		return CUDA_ERROR_INVALID_VALUE;
	for (CUdeviceptr at = addr; at < addr + size && !err; at += UNIT) {
		m = find(at);
		if (m)
			err = unmap(m);
	}
	return err;
}

/* Does not wait for queued work: work on unmapped memory fails. */
CUresult cuMemUnmap(CUdeviceptr addr, size_t size)
{
	CUresult err = lib_ready();

	if (err)
		return err;
	vmm_lock();
	err = unmap_range(addr, size);
	vmm_unlock();
	return err;
}
