/* SPDX-License-Identifier: MIT */
/* reserve: ranges of addresses that the program has reserved to map memory in; under the VMM lock. */
#ifndef RESERVE_H
#define RESERVE_H

#include <cuda.h>
#include <stdbool.h>

/* reserve_range - the reservation around @addr; false: there is none */
bool reserve_range(CUdeviceptr addr, CUdeviceptr *begin, size_t *size);

/* reserve_find - likewise, for those without the VMM lock */
bool reserve_find(CUdeviceptr addr, CUdeviceptr *begin, size_t *size);

#endif
