/* SPDX-License-Identifier: MIT */
#ifndef CALLS_LEFTOVER_H
#define CALLS_LEFTOVER_H

#include <stdbool.h>

enum { LEFTOVER_MAX = 256 };

/* How much there was of what leaves something */
void leftover_tell(void);

/* Whether the kernel has nothing of anybody; else @why says what there is. All who had something have ended. */
bool leftover_none(char why[LEFTOVER_MAX]);

#endif
