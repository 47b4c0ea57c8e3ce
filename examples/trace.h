/* SPDX-License-Identifier: MIT */
/* Evidence that a copy has pinned and mapped nothing. */
#ifndef TRACE_H
#define TRACE_H

#include <stdbool.h>
#include "libpeerpin.h"

/**
 * struct trace - what a pin or a map leaves behind
 * @a, @b: registrations
 * @maps_a, @maps_b: mappings made of them for devices so far
 * @counted: the emulated GPU has told how often it was asked to pin
 * @pins: that
 */
struct trace {
	struct pp_region a;
	struct pp_region b;
	unsigned int maps_a;
	unsigned int maps_b;
	bool counted;
	unsigned long long pins;
};

/* Of two regions, now. 0, or 1 after failed(). */
int trace_look(struct trace *t, struct pp_ctx *ctx, const struct pp_region *a,
	       const struct pp_region *b);

/* 0 if nothing was made between the two, else failed(). */
int trace_check(const char *what, const struct trace *x, const struct trace *y);

#endif
