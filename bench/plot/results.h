/* SPDX-License-Identifier: MIT */
/* Results of bench/run, for figures */
#ifndef RESULTS_H
#define RESULTS_H

#include <stdio.h>

enum {
	TEXT_MAX = 160,
	POINTS_MAX = 32,
	SERIES_MAX = 6,
	PLOTS_MAX = 16,
};

struct series {
	char name[TEXT_MAX];
	unsigned int count;
	double x[POINTS_MAX];
	double y[POINTS_MAX];
};

/**
 * struct plot - one figure
 * @unit: unit of @x: bytes or count; the unit of y is ns
 * @place: the machine of the measurement
 */
struct plot {
	char name[TEXT_MAX];
	char title[TEXT_MAX];
	char x[TEXT_MAX];
	char unit[TEXT_MAX];
	char place[TEXT_MAX];
	unsigned int count;
	struct series series[SERIES_MAX];
};

struct results {
	char place[TEXT_MAX];
	unsigned int count;
	struct plot plots[PLOTS_MAX];
};

/*
 * Read lines of places, figures and points; ignore other lines. Return 0, or the number of the first
 * bad line: a point without a figure, or not above 0; too many points; a text that is too long.
 */
unsigned int results_read(struct results *r, FILE *in);

#endif
