/* SPDX-License-Identifier: MIT */
#ifndef CALLS_LEFTOVER_H
#define CALLS_LEFTOVER_H

#include <stdbool.h>

enum { LEFTOVER_MAX = 256 };

/* Print how many pins the run made, put, and lost by revocation. */
void leftover_tell(void);

/*
 * True if the kernel holds no pins, regions or memory; otherwise @why names the leftover. All
 * processes that use the modules must have ended.
 */
bool leftover_none(char why[LEFTOVER_MAX]);

#endif
