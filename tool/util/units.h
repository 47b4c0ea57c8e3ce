/* SPDX-License-Identifier: MIT */
/* Numbers with units, as text. */
#ifndef UNITS_H
#define UNITS_H

#include <stdint.h>

/** struct text - a formatted number, returned by value */
struct text {
	char at[24];
};

struct text text_bytes(uint64_t bytes);		/* 8.0 MiB */
struct text text_mib(uint64_t bytes);		/* 256 MiB, as nvidia-smi */
struct text text_time(uint64_t ns);		/* 1.23 ms */
struct text text_rate(uint64_t bytes, uint64_t ns);	/* 4.56 GB/s */

/**
 * parse_size - parse a number of bytes: "8M", "64K", "1G", "4096"
 *
 * The suffixes are powers of 1024. Returns 0; -EINVAL not a number, or unknown suffix;
 * -ERANGE too large for 64 bits.
 */
int parse_size(const char *text, uint64_t *out);

/* Parses a number without a suffix. Returns as parse_size(). */
int parse_number(const char *text, uint64_t *out);

#endif
