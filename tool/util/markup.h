/* SPDX-License-Identifier: MIT */
/* Text inside HTML and SVG. */
#ifndef MARKUP_H
#define MARKUP_H

#include <stdio.h>

/* Writes @text, escaped, as text or as the value of an attribute. */
void put_markup(FILE *file, const char *text);

#endif
