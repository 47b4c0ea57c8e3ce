/* SPDX-License-Identifier: MIT */
/* What bench/plot draws: lines of fields parted by tabs, as claims are. */
#ifndef BENCH_FIGURE_H
#define BENCH_FIGURE_H

#include <stdio.h>

/**
 * struct figure - nanoseconds by something that is counted
 * @name: of the file
 * @title: what is measured
 * @x: what is counted
 * @unit: of it: bytes, or count
 */
struct figure {
	const char *name;
	const char *title;
	const char *x;
	const char *unit;
};

/* Said once, before its points are */
static inline void figure(const struct figure *f)
{
	printf("figure\t%s\t%s\t%s\t%s\n", f->name, f->title, f->x, f->unit);
}

/* The points of a series are said in the order of @x. */
static inline void point(const struct figure *f, const char *series, double x, double ns)
{
	printf("point\t%s\t%s\t%.0f\t%.3f\n", f->name, series, x, ns);
}

#endif
