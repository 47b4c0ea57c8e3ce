/* SPDX-License-Identifier: MIT */
/* Map figures to places of the picture, and choose the ticks of an axis. */
#ifndef SCALE_H
#define SCALE_H

#include <stdbool.h>

enum { TICKS_MAX = 12 };

/**
 * struct scale
 * @low, @high: figures at the ends
 * @from, @to: places of the ends
 * @tick: labelled figures; at most TICKS_MAX, in order
 */
struct scale {
	bool is_log;
	double low;
	double high;
	double from;
	double to;
	unsigned int ticks;
	double tick[TICKS_MAX];
};

/* Logarithmic from @low to @high, both above 0; ticks at powers of @base, or of a power of it if too many */
struct scale scale_powers(double low, double high, unsigned int base);

/*
 * A scale for @low to @high, both above 0, that ends at round figures. Linear from 0 if @high is less than ten times
 * @low, else logarithmic.
 */
struct scale scale_round(double low, double high);

double scale_place(const struct scale *s, double figure);

#endif
