/* SPDX-License-Identifier: MIT */
/* Random numbers from a printed seed. TEST_SEED=N repeats a run. */
#ifndef UNIT_RANDOM_H
#define UNIT_RANDOM_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static inline uint64_t random_seed(void)
{
	const char *given = getenv("TEST_SEED");
	uint64_t seed = given ? strtoull(given, NULL, 0) :
				(uint64_t)time(NULL) * 2654435761u;

	printf("TEST_SEED=%llu\n", (unsigned long long)seed);
	return seed;
}

/* splitmix64 */
static inline uint64_t random_next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

/* A number from 0 to @limit - 1. */
static inline unsigned int random_below(uint64_t *state, unsigned int limit)
{
	return random_next(state) % limit;
}

#endif
