/* SPDX-License-Identifier: MIT */
/* From figures to places on paper, and the figures that are written beside an axis. */
#ifndef SCALE_H
#define SCALE_H

#include <stdbool.h>

enum { TICKS_MAX = 12 };

/**
 * struct scale
 * @low, @high: figures at the ends
 * @from, @to: places of the ends
 * @tick: the figures to be written; at most TICKS_MAX, in order
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

/* From @low to @high, both above 0, each tick @base times the one before, or a power of it where that is too many */
struct scale scale_powers(double low, double high, unsigned int base);

/*
 * A scale that holds @low to @high, both above 0, and ends with round figures: linear and from 0 on, if @high is less
 * than ten times @low, else logarithmic.
 */
struct scale scale_round(double low, double high);

double scale_place(const struct scale *s, double figure);

#endif
