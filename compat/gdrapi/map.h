/* SPDX-License-Identifier: MIT */
#ifndef GDR_MAP_H
#define GDR_MAP_H

#include "handle.h"

/* GPU address that its mapping begins at */
uint64_t gdr_view_addr(const struct gdr_handle *h);

/* End its mapping, if there is one; under its lock */
void gdr_view_end(struct gdr_handle *h);

#endif
