/* SPDX-License-Identifier: MIT */
/* Byte patterns without a period: each byte depends on a seed and on the offset. */
#ifndef PATTERN_H
#define PATTERN_H

#include <stddef.h>
#include <stdint.h>

void pattern_fill(unsigned char *out, size_t length, uint64_t seed,
		  uint64_t offset);

/* Returns a new seed in each run: a random number, or the time if the kernel has no entropy yet. */
uint64_t pattern_seed(void);

/* Returns the @nth seed derived from @seed. The patterns of @seed and of all derived seeds are different. */
uint64_t pattern_other(uint64_t seed, uint64_t nth);

#endif
