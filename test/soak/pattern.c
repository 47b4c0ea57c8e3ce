// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "pattern.h"

enum {
	ROUND_BITS = 28,
	PLACE_BITS = 28,
	WORKER_SHIFT = ROUND_BITS + PLACE_BITS,
};

static uint64_t low_bits(uint64_t word, int bits)
{
	return word & ((UINT64_C(1) << bits) - 1);
}

void pattern_write(void *at, size_t bytes, unsigned int worker, uint32_t round)
{
	uint64_t first = (uint64_t)worker << WORKER_SHIFT | low_bits(round, ROUND_BITS) << PLACE_BITS;
	uint64_t *words = at;
	size_t i;

	for (i = 0; i < bytes / sizeof(*words); i++)
		words[i] = first | i;
}

size_t pattern_differs(const void *found, const void *expected, size_t bytes)
{
	const unsigned char *a = found, *b = expected;
	size_t i;

	if (!memcmp(a, b, bytes))
		return bytes;
	for (i = 0; a[i] == b[i]; i++)
		;
	return i;
}

static int tell(const void *at, char *text, size_t room)
{
	uint64_t word;

	memcpy(&word, at, sizeof(word));
	return snprintf(text, room, "worker %" PRIu64 " round %" PRIu64 " word %" PRIu64, word >> WORKER_SHIFT,
			low_bits(word >> PLACE_BITS, ROUND_BITS), low_bits(word, PLACE_BITS));
}

void pattern_tell(const void *found, const void *expected, char text[PATTERN_TEXT])
{
	int n = tell(found, text, PATTERN_TEXT);

	n += snprintf(text + n, PATTERN_TEXT - (size_t)n, " in place of ");
	tell(expected, text + n, PATTERN_TEXT - (size_t)n);
}
