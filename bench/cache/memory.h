/* SPDX-License-Identifier: MIT */
/* How much memory a cache needs for its ranges. */
#ifndef MEMORY_H
#define MEMORY_H

#include "ranges.h"

/*
 * Bytes a range, in a process of its own: what malloc() has given out, what it adds to that included, or what of it is
 * resident (pages with something in them, wherever they are from), whichever is more. Prints both.
 */
double memory_of(const struct contender *c, const char *name, const struct ranges *ranges);

#endif
