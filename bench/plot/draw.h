/* SPDX-License-Identifier: MIT */
#ifndef DRAW_H
#define DRAW_H

#include "results.h"

/* @p as an SVG picture, which is dark where the reader's screen is. Its first series is ours. */
void draw(const struct plot *p, FILE *out);

#endif
