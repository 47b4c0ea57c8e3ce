/* SPDX-License-Identifier: MIT */
/* Bytes that depend on a seed and on their offset, and do not repeat. */
#ifndef PATTERN_H
#define PATTERN_H

#include <stddef.h>
#include <stdint.h>

void pattern_fill(unsigned char *out, size_t length, uint64_t seed,
		  uint64_t offset);

/* Another one in each run; not always random: early after boot it is the time. */
uint64_t pattern_seed(void);

/* Seeds of patterns that differ from that of @seed, and from each other. */
uint64_t pattern_other(uint64_t seed, uint64_t nth);

#endif
