/* SPDX-License-Identifier: MIT */
/*
 * A program is a string of bytes. Each choice of a call or an argument consumes the next bytes. So
 * any string is a program. Two programs that differ in one byte do nearly the same.
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

/* A new program of random length */
void program_make(struct program *program, uint64_t *seed);

/* Change a few bytes, or replace the end of @program by the end of @other. */
void program_mutate(struct program *program, const struct program *other, uint64_t *seed);

bool choices_left(const struct choices *c);

/* Choose a number below @n, which is at most 2^56. Returns 0 if the program is used up. */
uint64_t choose(struct choices *c, uint64_t n);

/* Choose a typical edge value, or any number. */
uint64_t choose_number(struct choices *c);

/* True in one of @n calls. */
bool choose_rarely(struct choices *c, uint64_t n);

#endif
