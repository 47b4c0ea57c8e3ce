/* SPDX-License-Identifier: MIT */
/* What bench/run has gathered, of which the figures are drawn. */
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
 * @unit: of @x: bytes or count; y is in ns
 * @place: the machine that it was measured on
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
 * Takes the lines of places, figures and points; others are not its business.
 * Returns 0, or the number of the first line that it cannot make sense of: a
 * point of no figure, or that is not above 0; one too many; a text too long.
 */
unsigned int results_read(struct results *r, FILE *in);

#endif
