/* SPDX-License-Identifier: MIT */
/* Memory that a cache needs for its ranges */
#ifndef MEMORY_H
#define MEMORY_H

#include "ranges.h"

/*
 * Return the bytes per range, measured in a child process. This is the larger of two figures, which are printed: memory
 * from malloc() with its overhead, and resident memory.
 */
double memory_of(const struct contender *c, const char *name, const struct ranges *ranges);

#endif
