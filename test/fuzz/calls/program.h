/* SPDX-License-Identifier: MIT */
/*
 * A program is a string of bytes, and each decision on what to call and with
 * what takes the next ones: so any string is a program, and one that differs in a
 * byte does nearly the same.
 */
#ifndef CALLS_PROGRAM_H
#define CALLS_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PROGRAM_BYTES = 252 };

struct program {
	uint32_t length;
	uint8_t bytes[PROGRAM_BYTES];
};

/** struct choices - a program, read from @at on */
struct choices {
	const struct program *program;
	uint32_t at;
};

/* A new one, of random length */
void program_make(struct program *program, uint64_t *seed);

/* A few bytes of it become others, or the end of @other */
void program_mutate(struct program *program, const struct program *other, uint64_t *seed);

bool choices_left(const struct choices *c);

/* One below @n, which is at most 2^56; of a program that is used up: 0 */
uint64_t choose(struct choices *c, uint64_t n);

/* One of the numbers at which code goes wrong, or any */
uint64_t choose_number(struct choices *c);

/* true once in @n times */
bool choose_rarely(struct choices *c, uint64_t n);

#endif
