// SPDX-License-Identifier: MIT
#include "reserve.h"

#include "alloc.h"
#include "handle.h"
#include "emu/cuda/context/init.h"
#include "space.h"

#include <emugpu.h>
#include <stdlib.h>
#include <sys/queue.h>

enum { UNIT = EMUGPU_BLOCK_SIZE };

/** struct reservation - an address range from cuMemAddressReserve() */
struct reservation {
	LIST_ENTRY(reservation) link;
	CUdeviceptr addr;
	size_t size;
};

static LIST_HEAD(, reservation) reservations = LIST_HEAD_INITIALIZER(reservations);

/* @wish is only a hint. */
static CUdeviceptr take(size_t size, size_t alignment, CUdeviceptr wish)
{
	CUdeviceptr addr = 0;

	lib_lock();
	if (wish && wish % (alignment ? alignment : UNIT) == 0 && space_take_at(wish, size))
		addr = wish;
	else
		addr = space_take_aligned(size, alignment);
	lib_unlock();
	return addr;
}

static CUresult reserve(CUdeviceptr *out, size_t size, size_t alignment, CUdeviceptr wish)
{
	struct reservation *r = malloc(sizeof(*r));

	if (!r)
		return CUDA_ERROR_OUT_OF_MEMORY;
	r->size = size;
	r->addr = take(size, alignment, wish);
	if (!r->addr) {
		free(r);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	LIST_INSERT_HEAD(&reservations, r, link);
	*out = r->addr;
	return CUDA_SUCCESS;
}

CUresult cuMemAddressReserve(CUdeviceptr *out, size_t size, size_t alignment, CUdeviceptr wish,
			     unsigned long long flags)
{
	CUresult err = lib_ready();

	if (err)
		return err;
	if (!out || !size || size % UNIT || alignment & (alignment - 1) || flags)
		return CUDA_ERROR_INVALID_VALUE;
	vmm_lock();
	err = reserve(out, size, alignment, wish);
	vmm_unlock();
	return err;
}

static struct reservation *find(CUdeviceptr addr)
{
	struct reservation *r;

	LIST_FOREACH(r, &reservations, link)
		if (addr >= r->addr && addr - r->addr < r->size)
			return r;
	return NULL;
}

bool reserve_range(CUdeviceptr addr, CUdeviceptr *begin, size_t *size)
{
	const struct reservation *r = find(addr);

	if (!r)
		return false;
	*begin = r->addr;
	*size = r->size;
	return true;
}

bool reserve_find(CUdeviceptr addr, CUdeviceptr *begin, size_t *size)
{
	bool found;

	vmm_lock();
	found = reserve_range(addr, begin, size);
	vmm_unlock();
	return found;
}

/* A reservation with a mapping cannot be freed: its address must not be reused. */
static CUresult give(struct reservation *r)
{
	bool mapped;

	lib_lock();
	mapped = alloc_overlap(r->addr, r->size);
	if (!mapped)
		space_give(r->addr, r->size);
	lib_unlock();
	if (mapped)
		return CUDA_ERROR_INVALID_VALUE;
	LIST_REMOVE(r, link);
	free(r);
	return CUDA_SUCCESS;
}

CUresult cuMemAddressFree(CUdeviceptr addr, size_t size)
{
	CUresult err = lib_ready();
	struct reservation *r;

	if (err)
		return err;
	vmm_lock();
	r = find(addr);
	err = r && r->addr == addr && r->size == size ? give(r) : CUDA_ERROR_INVALID_VALUE;
	vmm_unlock();
	return err;
}
