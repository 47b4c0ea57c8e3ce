/* SPDX-License-Identifier: MIT */
/* Counts that the kernel keeps. While no worker holds anything, each count must have its start value. */
#ifndef SOAK_LEDGER_H
#define SOAK_LEDGER_H

#include <stdbool.h>

enum { LEDGER_MAX = 256 };

/* Record the counts before the first worker starts. */
void ledger_open(void);

/*
 * True if all counts are as recorded and kernel memory has not grown. Else @why gives the reason.
 * Growth is measured from the second call, when caches have filled. Prints the size of kernel
 * memory.
 */
bool ledger_is_even(char why[LEDGER_MAX]);

#endif
