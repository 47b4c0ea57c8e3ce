/* SPDX-License-Identifier: MIT */
#ifndef CALLS_RANDOM_H
#define CALLS_RANDOM_H

#include <stdint.h>

/* Next random number (splitmix64). A seed, which may be any number, always gives the same sequence. */
static inline uint64_t random_next(uint64_t *seed)
{
	uint64_t z = *seed += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

static inline uint64_t random_below(uint64_t *seed, uint64_t n)
{
	return random_next(seed) % n;
}

#endif
