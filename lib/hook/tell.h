/* SPDX-License-Identifier: MIT */
/*
 * Notify the subscribers of the range that a call is going to free. Called only while
 * there are subscribers. All return the argument for pp_going_end(). The caller calls
 * pp_going_end() when the driver has returned.
 */
#ifndef PP_HOOK_TELL_H
#define PP_HOOK_TELL_H

#include <stdint.h>

int pp_tell_range(uint64_t addr, uint64_t length);

/* The range is the allocation or registration at @addr, or all memory if CUDA does not know @addr. */
int pp_tell_allocation(uint64_t addr);

/* The range is all memory: the call frees all, or an unknown part */
int pp_tell_all(void);

#endif
