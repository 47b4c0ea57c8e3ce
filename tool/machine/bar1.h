/* SPDX-License-Identifier: MIT */
/* BAR1 of all GPUs, and how many more bytes it takes. */
#ifndef BAR1_H
#define BAR1_H

#include <stdint.h>
#include "libpeerpin.h"

enum {
	BAR1_RESERVE_MIB = 36,	/* measured: of 256 MiB, at most 220 can be pinned */
};

/*
 * Of all GPUs that answer; @index: of each, as NVML counts them. Returns how many there are; @error: 0, or the -errno of
 * the first that does not answer, or why there is none at all.
 */
unsigned int bar1_find(struct pp_bar1 *out, unsigned int *index, unsigned int room, int *error);

/* What pins cannot have of each BAR1, as the driver keeps it for itself */
uint64_t bar1_reserve(void);

/* Whole pages of a GPU, beside the reserve; 0 when that is touched already */
uint64_t bar1_fits(const struct pp_bar1 *bar1, uint64_t reserve);

#endif
