/* SPDX-License-Identifier: MIT */
/* Input of bench/plot: lines of fields separated by tabs, like claims */
#ifndef BENCH_FIGURE_H
#define BENCH_FIGURE_H

#include <stdio.h>

/**
 * struct figure - a plot of nanoseconds over a quantity
 * @name: name of the file
 * @title: title of the plot
 * @x: name of the quantity
 * @unit: unit of the quantity: bytes, or count
 */
struct figure {
	const char *name;
	const char *title;
	const char *x;
	const char *unit;
};

/* Call once, before the points. */
static inline void figure(const struct figure *f)
{
	printf("figure\t%s\t%s\t%s\t%s\n", f->name, f->title, f->x, f->unit);
}

/* Print the points of a series in order of @x. */
static inline void point(const struct figure *f, const char *series, double x, double ns)
{
	printf("point\t%s\t%s\t%.0f\t%.3f\n", f->name, series, x, ns);
}

#endif
