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
 * Where to look, below 2^40. The last one is for address sanitizer, which
 * leaves nothing else there than what lies under 2 GiB.
 */
static const struct place places[] = {
	{ 8 * GIB, 16 * GIB },
	{ 64 * GIB, 16 * GIB },
	{ 256 * GIB, 16 * GIB },
	{ 512 * GIB, 16 * GIB },
	{ GIB / 4, GIB },
};

static CUdeviceptr base;
static uint64_t limit;
static struct fit *room;

/* The address is checked because what knows no MAP_FIXED_NOREPLACE (valgrind) takes it for a hint. */
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

CUdeviceptr space_take(size_t size)
{
	long at = size > limit ? -1 : fit_take(room, size / EMUGPU_BLOCK_SIZE);

	return at < 0 ? 0 : base + (CUdeviceptr)at * EMUGPU_BLOCK_SIZE;
}

void space_give(CUdeviceptr va, size_t size)
{
	fit_give(room, (va - base) / EMUGPU_BLOCK_SIZE, size / EMUGPU_BLOCK_SIZE);
}
