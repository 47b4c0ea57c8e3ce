// SPDX-License-Identifier: MIT
#include "space.h"

#include "fit.h"

#include <emugpu.h>
#include <sys/mman.h>

#define GIB (UINT64_C(1) << 30)

struct place {
	uint64_t base;
	uint64_t size;
};

/*
 * Candidates for the range of GPU virtual addresses, below 2^40. The last candidate is for
 * AddressSanitizer, which leaves only the first 2 GiB free.
 */
static const struct place places[] = {
	{ 8 * GIB, 64 * GIB },
	{ 128 * GIB, 64 * GIB },
	{ 256 * GIB, 64 * GIB },
	{ 512 * GIB, 64 * GIB },
	{ GIB / 4, GIB },
};

static CUdeviceptr base;
static uint64_t limit;
static struct fit *room;

/* Checks the address: valgrind does not know MAP_FIXED_NOREPLACE and uses the address as a hint. */
static bool reserve(const struct place *place)
{
	void *want = (void *)place->base;
	void *got = mmap(want, place->size, PROT_NONE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);

	if (got != MAP_FAILED && got != want)
		munmap(got, place->size);
	return got == want;
}

static bool reserve_any(void)
{
	for (unsigned int i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		if (!reserve(&places[i]))
			continue;
		base = places[i].base;
		limit = places[i].size;
		return true;
	}
	return false;
}

CUresult space_reserve(void)
{
	if (!base && !reserve_any())
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (!room)
		room = fit_new(limit / EMUGPU_BLOCK_SIZE);
	return room ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUdeviceptr address(long unit)
{
	return unit < 0 ? 0 : base + (CUdeviceptr)unit * EMUGPU_BLOCK_SIZE;
}

static unsigned int unit(CUdeviceptr va)
{
	return (va - base) / EMUGPU_BLOCK_SIZE;
}

CUdeviceptr space_take(size_t size)
{
	return size > limit ? 0 : address(fit_take(room, size / EMUGPU_BLOCK_SIZE));
}

/* Takes a range large enough to contain an aligned range, and frees both ends. */
CUdeviceptr space_take_aligned(size_t size, size_t alignment)
{
	size_t slack = alignment > EMUGPU_BLOCK_SIZE ? alignment - EMUGPU_BLOCK_SIZE : 0;
	CUdeviceptr va, begin;

	if (size > limit || slack > limit - size)
		return 0;
	va = space_take(size + slack);
	if (!va || !slack)
		return va;
	begin = (va + slack) & -(CUdeviceptr)alignment;
	if (begin > va)
		space_give(va, begin - va);
	if (begin < va + slack)
		space_give(begin + size, va + slack - begin);
	return begin;
}

bool space_take_at(CUdeviceptr va, size_t size)
{
	if (va < base || va - base >= limit || size > limit - (va - base) || va % EMUGPU_BLOCK_SIZE)
		return false;
	return fit_take_at(room, unit(va), size / EMUGPU_BLOCK_SIZE);
}

void space_give(CUdeviceptr va, size_t size)
{
	fit_give(room, unit(va), size / EMUGPU_BLOCK_SIZE);
}

CUresult space_unmap(CUdeviceptr va, size_t size)
{
	void *p = mmap((void *)(uintptr_t)va, size, PROT_NONE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);

	return p == MAP_FAILED ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

/* Needs no lock: cuInit() writes base and limit once. */
bool space_has(CUdeviceptr addr)
{
	return addr - base < limit;
}
