/* SPDX-License-Identifier: MIT */
/*
 * pool: heaps of a GPU, of no context, that streams allocate from. Each GPU has
 * a default one. A destroyed pool is no handle any more and goes when the last
 * allocation of it does.
 */
#ifndef POOL_H
#define POOL_H

#include "heap.h"

/**
 * struct CUmemPoolHandle_st - under the library lock
 * @device: whose memory
 * @users: allocations of it, given out and not given back
 * @dead: no handle any more
 * @reuse: CU_MEMPOOL_ATTR_REUSE_...
 */
struct CUmemPoolHandle_st {
	struct heap heap;
	CUdevice device;
	unsigned int users;
	bool dead;
	int reuse[3];
};

/* None of these may be called with the library lock. */

/* pool_get - check that @pool is a handle, and use it until pool_put() */
CUresult pool_get(CUmemoryPool pool);
void pool_put(CUmemoryPool pool);

/* pool_of_device - the pool that cuMemAllocAsync() takes, used until pool_put() */
CUmemoryPool pool_of_device(CUdevice device);

#endif
