/* SPDX-License-Identifier: MIT */
/* Which range goes away with a call; only while there are subscribers. */
#ifndef PP_HOOK_TELL_H
#define PP_HOOK_TELL_H

#include <stdint.h>

/* The allocation or registration at @addr; all memory, if CUDA does not know it. */
void pp_tell_allocation(uint64_t addr);

/* All memory, or who knows which. */
void pp_tell_all(void);

#endif
