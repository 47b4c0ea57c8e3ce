/* SPDX-License-Identifier: MIT */
/*
 * Contents of memory. Each word of 8 bytes contains a worker, a round and a position, so that a
 * wrong word shows its origin.
 */
#ifndef SOAK_PATTERN_H
#define SOAK_PATTERN_H

#include <stddef.h>
#include <stdint.h>

enum { PATTERN_TEXT = 192 };

/* @bytes: a multiple of 8; @round: only the low 28 bits count */
void pattern_write(void *at, size_t bytes, unsigned int worker, uint32_t round);

/* Offset of the first byte that differs, or @bytes if all are equal */
size_t pattern_differs(const void *found, const void *expected, size_t bytes);

/* Describe the words at @found and @expected, both aligned to 8 bytes. */
void pattern_tell(const void *found, const void *expected, char text[PATTERN_TEXT]);

#endif
