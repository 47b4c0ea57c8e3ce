/* SPDX-License-Identifier: MIT */
/*
 * Ranges that are being freed, from before the call of the subscribers until the driver
 * has returned. A registration made in this time may be of the old memory.
 */
#ifndef PP_HOOK_GOING_H
#define PP_HOOK_GOING_H

#include <stdint.h>

enum {
	PP_GOING_NOTHING = -1,
};

/* Returns the argument for pp_going_end(). */
int pp_going_begin(uint64_t addr, uint64_t length);
void pp_going_end(int going);

/* Call it in a child of fork(): there the frees of the parent's threads never end. */
void pp_going_forget(void);

#endif
