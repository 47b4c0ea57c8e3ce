/* SPDX-License-Identifier: MIT */
/*
 * Which range goes away with a call; only while there are subscribers. All return
 * what pp_going_end() takes, when the driver has returned.
 */
#ifndef PP_HOOK_TELL_H
#define PP_HOOK_TELL_H

#include <stdint.h>

int pp_tell_range(uint64_t addr, uint64_t length);

/* The allocation or registration at @addr; all memory, if CUDA does not know it. */
int pp_tell_allocation(uint64_t addr);

/* All memory, or who knows which. */
int pp_tell_all(void);

#endif
