/* SPDX-License-Identifier: MIT */
/* BAR1 of all GPUs, and the number of bytes that can still be pinned. */
#ifndef BAR1_H
#define BAR1_H

#include <stdint.h>
#include "libpeerpin.h"

/*
 * Reads BAR1 of all GPUs that answer. @index receives the NVML indices of these GPUs. @error is 0, or -errno of the
 * first GPU that does not answer, or of NVML if no GPU answers. Returns the number of GPUs that answer.
 */
unsigned int bar1_find(struct pp_bar1 *out, unsigned int *index, unsigned int room, int *error);

/* Bytes that can still be pinned: the free bytes minus the reserve, in whole GPU pages; 0 if there are none. */
uint64_t bar1_fits(const struct pp_bar1 *bar1, uint64_t reserve);

struct json_object;

/* Makes the JSON object of a GPU; @index: its NVML index */
struct json_object *bar1_json(unsigned int index, const struct pp_bar1 *gpu, uint64_t reserve);

#endif
