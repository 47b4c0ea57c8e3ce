/* SPDX-License-Identifier: MIT */
/* Proof that a copy has made no pin and no mapping */
#ifndef TRACE_H
#define TRACE_H

#include <stdbool.h>
#include "libpeerpin.h"

/**
 * struct trace - numbers that a pin or a mapping changes
 * @a, @b: registrations
 * @maps_a, @maps_b: device mappings made of them so far
 * @counted: true if @pins is valid
 * @pins: pins made by the emulated GPU driver so far
 */
struct trace {
	struct pp_region a;
	struct pp_region b;
	unsigned int maps_a;
	unsigned int maps_b;
	bool counted;
	unsigned long long pins;
};

/* Read the current numbers of two regions. Return 0, or 1 after failed(). */
int trace_look(struct trace *t, struct pp_ctx *ctx, const struct pp_region *a,
	       const struct pp_region *b);

/* Return 0 if @x and @y are the same, else failed(). */
int trace_check(const char *what, const struct trace *x, const struct trace *y);

#endif
