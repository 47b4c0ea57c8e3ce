/* SPDX-License-Identifier: MIT */
/* How many more bytes a GPU's BAR1 takes. */
#ifndef BAR1_H
#define BAR1_H

#include <stdint.h>
#include "libpeerpin.h"

enum {
	BAR1_RESERVE_MIB = 36,	/* measured: of 256 MiB, at most 220 can be pinned */
};

/* What pins cannot have of each BAR1, as the driver keeps it for itself */
uint64_t bar1_reserve(void);

/* Whole pages of a GPU, beside the reserve; 0 when that is touched already */
uint64_t bar1_fits(const struct pp_bar1 *bar1, uint64_t reserve);

#endif
