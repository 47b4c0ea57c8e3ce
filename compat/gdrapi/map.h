/* SPDX-License-Identifier: MIT */
#ifndef GDR_MAP_H
#define GDR_MAP_H

#include "handle.h"

/* GPU address of the first byte of the handle's mapping */
uint64_t gdr_view_addr(const struct gdr_handle *h);

/* Unmap the handle if it is mapped; under the handle's lock */
void gdr_view_end(struct gdr_handle *h);

#endif
