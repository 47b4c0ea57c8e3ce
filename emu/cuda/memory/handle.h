/* SPDX-License-Identifier: MIT */
/*
 * handle: GPU memory without an address, as CUmemGenericAllocationHandle. The memory exists as long
 * as the program has a handle or a mapping. A handle is looked up before it is used as a pointer.
 *
 * The VMM lock protects all data of handle.c, reserve.c and vmm.c. The lock is held during calls of
 * the kernel, so that no other thread finds a half-made mapping. Order: VMM lock -> library lock.
 */
#ifndef HANDLE_H
#define HANDLE_H

#include <cuda.h>
#include <stdbool.h>

/**
 * struct memory - the memory of a handle
 * @handles: number of handles that the program has to release
 * @mappings: number of mappings of the memory
 * @kernel_memory: number of the memory in the kernel
 * @id: CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID
 * @size: bytes
 * @prop: properties passed to cuMemCreate()
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

/* handle_find - NULL: @handle is not valid */
struct memory *handle_find(CUmemGenericAllocationHandle handle);

/* handle_get - make one more handle, which the program has to release */
CUmemGenericAllocationHandle handle_get(struct memory *m);

/* handle_drop - call after decrementing @handles or @mappings: frees the memory if both are 0 */
CUresult handle_drop(struct memory *m);

/* handle_is_location - whether @location is an existing GPU */
bool handle_is_location(const CUmemLocation *location);

/* handle_is_host - whether @location is host memory, which this library cannot map */
bool handle_is_host(const CUmemLocation *location);

#endif
