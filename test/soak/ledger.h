/* SPDX-License-Identifier: MIT */
/* The kernel's own counts, which must be back at their start values when no worker holds anything. */
#ifndef SOAK_LEDGER_H
#define SOAK_LEDGER_H

#include <stdbool.h>

enum { LEDGER_MAX = 256 };

/* Records the counts before the first worker starts. */
void ledger_open(void);

/*
 * True if all counts are as recorded and kernel memory has not grown since the second
 * call, when caches have filled; otherwise @why gives the reason. Prints the size of
 * the kernel's memory.
 */
bool ledger_is_even(char why[LEDGER_MAX]);

#endif
