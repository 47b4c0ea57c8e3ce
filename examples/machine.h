/* SPDX-License-Identifier: MIT */
/* Hardware of the demonstration. Each function prints a line and returns 0, or 1 after failed(). */
#ifndef MACHINE_H
#define MACHINE_H

#include <stdint.h>

/* The first GPU, and used bytes of its BAR1 */
int machine_gpu(uint64_t *bar1_used);

/* The first GPU, if it is integrated */
int machine_integrated_gpu(void);

/* The peer device @name, and whether an IOMMU translates its addresses */
int machine_peer(const char *name);

#endif
