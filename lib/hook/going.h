/* SPDX-License-Identifier: MIT */
/*
 * Ranges that are being freed: from before subscribers are told to when the
 * driver has returned. What is registered in between may be of the old memory.
 */
#ifndef PP_HOOK_GOING_H
#define PP_HOOK_GOING_H

#include <stdint.h>

enum {
	PP_GOING_NOTHING = -1,
};

/* Returns what pp_going_end() takes. */
int pp_going_begin(uint64_t addr, uint64_t length);
void pp_going_end(int going);

/* In a child of fork(), whose other threads are not there */
void pp_going_forget(void);

#endif
