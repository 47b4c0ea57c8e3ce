/* SPDX-License-Identifier: MIT */
/*
 * handle: GPU memory without an address, as CUmemGenericAllocationHandle. It
 * lives as long as the program has handles of it or it is mapped. What a
 * handle says is checked before it is followed.
 *
 * All of it, and all of reserve and vmm, is under the VMM lock, which is held across calls
 * of the kernel, so that no other thread finds a mapping half made. It is taken
 * before the library lock.
 */
#ifndef HANDLE_H
#define HANDLE_H

#include <cuda.h>
#include <stdbool.h>

/**
 * struct memory - what a handle stands for
 * @handles: that the program has to release
 * @mappings: of it
 * @kernel_memory: its number in the kernel
 * @id: CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID
 * @size: bytes
 * @prop: what it was made with
 */
struct memory {
	unsigned int handles;
	unsigned int mappings;
	unsigned int kernel_memory;
	unsigned long long id;
	size_t size;
	CUmemAllocationProp prop;
};

void vmm_lock(void);
void vmm_unlock(void);

/* handle_find - NULL: @handle is none */
struct memory *handle_find(CUmemGenericAllocationHandle handle);

/* handle_get - one more for the program to release */
CUmemGenericAllocationHandle handle_get(struct memory *m);

/* handle_drop - after one handle or mapping less: the memory goes with the last */
CUresult handle_drop(struct memory *m);

/* handle_is_location - @location is a GPU that there is */
bool handle_is_location(const CUmemLocation *location);

/* handle_is_host - it is the CPU's memory, which this library cannot map */
bool handle_is_host(const CUmemLocation *location);

#endif
