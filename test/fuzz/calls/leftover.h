/* SPDX-License-Identifier: MIT */
#ifndef CALLS_LEFTOVER_H
#define CALLS_LEFTOVER_H

#include <stdbool.h>

enum { LEFTOVER_MAX = 256 };

/* Prints how many pins the run made, put and lost by revocation. */
void leftover_tell(void);

/* True if the kernel holds no pins, regions or memory; otherwise @why names them. All users must have ended. */
bool leftover_none(char why[LEFTOVER_MAX]);

#endif
