/* SPDX-License-Identifier: MIT */
/* Colours of the text output. Output that is no terminal has none, unless the user asks for them. */
#ifndef COLOUR_H
#define COLOUR_H

#include <stdbool.h>
#include <stdio.h>

enum text_colour {
	COLOUR_NONE,
	COLOUR_BOLD,
	COLOUR_GREEN,
	COLOUR_YELLOW,
	COLOUR_RED,
	COLOUR_DIM,
};

/* @when: the argument of --color; NULL: it has none. Returns 0, or EXIT_USAGE after printing the error. */
int colour_choose(const char *when);

/* Are colours printed to @file? */
bool colour_is_on(FILE *file);

/* Return the sequence that begins or ends a colour on @file; "": @file has no colours. */
const char *colour_on(FILE *file, enum text_colour colour);
const char *colour_off(FILE *file, enum text_colour colour);

#endif
