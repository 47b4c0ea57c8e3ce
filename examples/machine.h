/* SPDX-License-Identifier: MIT */
/* What the demonstration runs on. Functions say it, and return 0, or 1 after failed(). */
#ifndef MACHINE_H
#define MACHINE_H

#include <stdint.h>

/* The first GPU, and bytes of its BAR1 that are used. */
int machine_gpu(uint64_t *bar1_used);

/* The first GPU, which is a part of the processor. */
int machine_integrated_gpu(void);

/* The peer device of that name, and whether an IOMMU translates for it. */
int machine_peer(const char *name);

#endif
