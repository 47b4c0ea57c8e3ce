/* SPDX-License-Identifier: MIT */
/* Text inside HTML and SVG. */
#ifndef MARKUP_H
#define MARKUP_H

#include <stdio.h>

/* As text or as an attribute's value, whatever it holds. */
void put_markup(FILE *file, const char *text);

#endif
