/* SPDX-License-Identifier: MIT */
/* Byte patterns that depend on a seed and on the offset, without a period. */
#ifndef PATTERN_H
#define PATTERN_H

#include <stddef.h>
#include <stdint.h>

void pattern_fill(unsigned char *out, size_t length, uint64_t seed,
		  uint64_t offset);

/* A new seed in each run: random, or the time if the kernel has no entropy yet. */
uint64_t pattern_seed(void);

/* Derives other seeds: all patterns differ from @seed's and from each other. */
uint64_t pattern_other(uint64_t seed, uint64_t nth);

#endif
