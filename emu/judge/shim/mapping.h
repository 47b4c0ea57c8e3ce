/* SPDX-License-Identifier: MIT */
/* Where drivers' nodes are mapped, by the process itself. */
#ifndef SHIM_MAPPING_H
#define SHIM_MAPPING_H

#include <stdbool.h>
#include <stddef.h>

void mapping_add(const void *at, size_t length);

/** mapping_has - whether any of it is such a mapping */
bool mapping_has(const void *at, size_t length);

/** mapping_remove - what was unmapped or mapped anew */
void mapping_remove(const void *at, size_t length);

#endif
