/* SPDX-License-Identifier: MIT */
/*
 * What is in memory: each word of 8 bytes names the worker, the round in which
 * it was written and its place in what was written, so that a wrong one tells
 * whose it is.
 */
#ifndef SOAK_PATTERN_H
#define SOAK_PATTERN_H

#include <stddef.h>
#include <stdint.h>

enum { PATTERN_TEXT = 192 };

/* @bytes is a multiple of 8; 28 bits of @round are kept */
void pattern_write(void *at, size_t bytes, unsigned int worker, uint32_t round);

/* The first byte that is not the same in both, else @bytes */
size_t pattern_differs(const void *found, const void *expected, size_t bytes);

/* In words, what the word at @found is and what that at @expected; each begins as words do */
void pattern_tell(const void *found, const void *expected, char text[PATTERN_TEXT]);

#endif
