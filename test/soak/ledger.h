/* SPDX-License-Identifier: MIT */
/* What the kernel says of what everybody has, when nobody has anything. */
#ifndef SOAK_LEDGER_H
#define SOAK_LEDGER_H

#include <stdbool.h>

enum { LEDGER_MAX = 256 };

/* What is there before anybody has begun */
void ledger_open(void);

/*
 * Whether all is as it was then, and memory has not grown since the second time
 * that this was asked, when what is kept for later is kept; else @why. Prints
 * what the kernel's memory is.
 */
bool ledger_is_even(char why[LEDGER_MAX]);

#endif
