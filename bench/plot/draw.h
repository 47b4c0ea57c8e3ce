/* SPDX-License-Identifier: MIT */
#ifndef DRAW_H
#define DRAW_H

#include "results.h"

/* Draw @p as SVG, with dark mode. The first series is peerpin's. */
void draw(const struct plot *p, FILE *out);

#endif
