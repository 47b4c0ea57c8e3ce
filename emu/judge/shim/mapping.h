/* SPDX-License-Identifier: MIT */
/* The address ranges where this process has mapped drivers' nodes. */
#ifndef SHIM_MAPPING_H
#define SHIM_MAPPING_H

#include <stdbool.h>
#include <stddef.h>

/** mapping_add - @tested: the node is of the driver under test */
void mapping_add(const void *at, size_t length, bool tested);

/** mapping_has - whether the range overlaps a mapping of a driver's node */
bool mapping_has(const void *at, size_t length);

/** mapping_has_tested - whether a mapping of the driver under test exists */
bool mapping_has_tested(void);

/** mapping_each - call @call, which may call no function of this file, for each range */
void mapping_each(void (*call)(void *at, size_t length));

/** mapping_remove - call after the range was unmapped or replaced by another mapping */
void mapping_remove(const void *at, size_t length);

#endif
