/* SPDX-License-Identifier: MIT */
/* reserve: address ranges that the program has reserved for mappings; under the VMM lock (handle.h). */
#ifndef RESERVE_H
#define RESERVE_H

#include <cuda.h>
#include <stdbool.h>

/* reserve_range - the reservation that contains @addr; returns false if not found */
bool reserve_range(CUdeviceptr addr, CUdeviceptr *begin, size_t *size);

/* reserve_find - reserve_range() for callers without the VMM lock */
bool reserve_find(CUdeviceptr addr, CUdeviceptr *begin, size_t *size);

#endif
