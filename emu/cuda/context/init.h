/* SPDX-License-Identifier: MIT */
#ifndef INIT_H
#define INIT_H

#include <cuda.h>

/* What cuDriverGetVersion() says: the API level this is a look-alike of. */
enum { DRIVER_VERSION = 13000 };

/*
 * lib_ready - CUDA_ERROR_NOT_INITIALIZED before cuInit(), and in a child of
 * fork(); CUDA_ERROR_NOT_PERMITTED in a function that an engine calls
 */
CUresult lib_ready(void);

/*
 * The library lock: contexts, blocks, allocations and address space. A leaf:
 * held for look-ups and list changes only, never across a call of the node.
 */
void lib_lock(void);
void lib_unlock(void);

#endif
