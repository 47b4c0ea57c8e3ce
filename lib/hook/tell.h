/* SPDX-License-Identifier: MIT */
/*
 * Notify the subscribers of the range that a call frees. Called only while there are
 * subscribers. All return the argument for pp_going_end(), which the caller calls when
 * the driver has returned.
 */
#ifndef PP_HOOK_TELL_H
#define PP_HOOK_TELL_H

#include <stdint.h>

int pp_tell_range(uint64_t addr, uint64_t length);

/* The allocation or registration at @addr; all memory if CUDA does not know @addr. */
int pp_tell_allocation(uint64_t addr);

/* All memory, or an unknown part of it */
int pp_tell_all(void);

#endif
