/* SPDX-License-Identifier: MIT */
/* Map figures to places of the picture, and choose the ticks of an axis. */
#ifndef SCALE_H
#define SCALE_H

#include <stdbool.h>

enum { TICKS_MAX = 12 };

/**
 * struct scale - scale of an axis
 * @low, @high: figures at the ends of the axis
 * @from, @to: places of the ends in the picture
 * @tick: figures with labels; at most TICKS_MAX, in order
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

/* A logarithmic scale from @low to @high, both above 0. Ticks: at all powers of @base or, if too many, at every nth */
struct scale scale_powers(double low, double high, unsigned int base);

/*
 * A scale for @low to @high, both above 0, that ends at round figures. Linear from 0 if @high is less than ten times
 * @low, else logarithmic.
 */
struct scale scale_round(double low, double high);

double scale_place(const struct scale *s, double figure);

#endif
