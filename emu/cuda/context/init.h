/* SPDX-License-Identifier: MIT */
#ifndef INIT_H
#define INIT_H

#include <cuda.h>

/*
 * lib_ready - first check of each call: CUDA_ERROR_NOT_INITIALIZED before cuInit() and
 * in a child of fork(); CUDA_ERROR_NOT_PERMITTED in a function that a stream calls
 */
CUresult lib_ready(void);

/*
 * The library lock protects contexts, blocks, allocations and the address space. The lock is a
 * leaf, held for look-ups and list changes only, never during a call of /dev/emugpu.
 */
void lib_lock(void);
void lib_unlock(void);

#endif
