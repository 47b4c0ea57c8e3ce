/* SPDX-License-Identifier: MIT */
/* Text inside HTML and SVG. */
#ifndef MARKUP_H
#define MARKUP_H

#include <stdio.h>

/* Escapes any @text, for use as text or as the value of an attribute. */
void put_markup(FILE *file, const char *text);

#endif
