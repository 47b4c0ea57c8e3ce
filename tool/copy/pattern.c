// SPDX-License-Identifier: MIT
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include "pattern.h"

/* splitmix64 of the word's index */
static uint64_t word(uint64_t seed, uint64_t index)
{
	uint64_t z = seed + (index + 1) * 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

void pattern_fill(unsigned char *out, size_t length, uint64_t seed,
		  uint64_t offset)
{
	while (length) {
		uint64_t w = word(seed, offset / sizeof(w));
		size_t skip = offset % sizeof(w);
		size_t n = sizeof(w) - skip;

		n = n < length ? n : length;
		memcpy(out, (unsigned char *)&w + skip, n);
		out += n;
		offset += n;
		length -= n;
	}
}

uint64_t pattern_seed(void)
{
	struct timespec now;
	uint64_t seed;

	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) == sizeof(seed))
		return seed;
	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint64_t pattern_other(uint64_t seed, uint64_t nth)
{
	return word(~seed, nth);
}
