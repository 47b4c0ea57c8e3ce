/* SPDX-License-Identifier: MIT */
/*
 * pool: heaps without a context, for stream-ordered allocation. Each GPU has a default
 * pool. The handle of a destroyed pool is invalid; the pool is freed with its last
 * allocation.
 */
#ifndef POOL_H
#define POOL_H

#include "heap.h"

/**
 * struct CUmemPoolHandle_st - a pool; under the library lock
 * @device: GPU of the memory
 * @users: references: by allocations in the pool, and by callers between pool_get() and pool_put()
 * @dead: the pool is destroyed: the handle is invalid
 * @reuse: values of the three CU_MEMPOOL_ATTR_REUSE_ attributes
 */
struct CUmemPoolHandle_st {
	struct heap heap;
	CUdevice device;
	unsigned int users;
	bool dead;
	int reuse[3];
};

/* Call none of the functions below with the library lock held. */

/* pool_get - check the handle and take a reference, until pool_put() */
CUresult pool_get(CUmemoryPool pool);
void pool_put(CUmemoryPool pool);

/* pool_of_device - the pool of @device for cuMemAllocAsync(), with a reference until pool_put() */
CUmemoryPool pool_of_device(CUdevice device);

#endif
