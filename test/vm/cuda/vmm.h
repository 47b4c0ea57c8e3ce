/* SPDX-License-Identifier: MIT */
/*
 * For the tests of memory that a program maps itself. Each case has its own memory and addresses.
 * All cases pass on a real GPU, too, unless noted.
 */
#ifndef TEST_VMM_H
#define TEST_VMM_H

#include "cu.h"

enum { UNSET = 0x5a5a5a5a };

static const CUmemLocation here = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 };
static const CUmemAccessDesc readwrite = { { CU_MEM_LOCATION_TYPE_DEVICE, 0 }, CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
static const size_t unit = 2 << 20;	/* unit of sizes and addresses */
static unsigned char bytes[4 << 20], back[4 << 20] __attribute__((unused));

static inline CUmemAllocationProp prop(bool rdma)
{
	CUmemAllocationProp p = { .type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = here };

	p.allocFlags.gpuDirectRDMACapable = rdma;
	return p;
}

/* ---- state: four units of addresses, two of memory ------------------------------------ */

static CUdeviceptr va;
static CUmemGenericAllocationHandle memory;

static inline void set_up(void)
{
	CUmemAllocationProp p = prop(true);

	OK(cuMemAddressReserve(&va, 4 * unit, 0, 0, 0));
	OK(cuMemCreate(&memory, 2 * unit, &p, 0));
}

static inline void map_at(CUdeviceptr at)
{
	OK(cuMemMap(at, 2 * unit, 0, memory, 0));
	OK(cuMemSetAccess(at, 2 * unit, &readwrite, 1));
}

static inline void set_up_mapped(void)
{
	set_up();
	if (vmtest_result == VMTEST_OK)
		map_at(va);
}

static inline void tear_down(void)
{
	OK(cuMemUnmap(va, 4 * unit));
	OK(cuMemRelease(memory));
	OK(cuMemAddressFree(va, 4 * unit));
}

static inline uint64_t get_word(CUpointer_attribute which, CUdeviceptr p)
{
	uint64_t value = UNSET;

	return cuPointerGetAttribute(&value, which, p) ? UNSET : value;
}

static inline void vmm_start(void)
{
	EXPECT(cu_start(0), "no GPU");
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = i * 2654435761u >> 13;
}

#endif
