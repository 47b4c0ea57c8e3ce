// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>
#include "stats.h"
#include "tool/tool.h"

enum {
	PARTS = 5,
	LEAST_IN_PART = 2,
};

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static double middle(const double *sorted, size_t count)
{
	return count % 2 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
}

/* The sample below which @percent of the samples lie */
static double percentile(const double *sorted, size_t count, unsigned int percent)
{
	size_t at = (count * percent + 99) / 100;

	return sorted[at ? at - 1 : 0];
}

/* The caller frees the array. */
static double *sorted_copy(const double *samples, size_t count)
{
	double *copy = malloc(count * sizeof(*copy));

	if (!copy)
		no_memory();
	memcpy(copy, samples, count * sizeof(*copy));
	qsort(copy, count, sizeof(*copy), by_value);
	return copy;
}

static double median_of(const double *samples, size_t count)
{
	double *sorted = sorted_copy(samples, count), median = middle(sorted, count);

	free(sorted);
	return median;
}

static double noise_of(const double *samples, size_t count)
{
	double least = 0, most = 0, median;
	size_t parts = count < PARTS * LEAST_IN_PART ? count : PARTS, i;

	for (i = 0; i < parts; i++) {
		size_t from = i * count / parts, to = (i + 1) * count / parts;

		median = median_of(samples + from, to - from);
		if (!i || median < least)
			least = median;
		if (!i || median > most)
			most = median;
	}
	return most - least;
}

void perf_sum_up(const double *samples, size_t count, struct perf_point *out)
{
	double *sorted = sorted_copy(samples, count);

	out->count = count;
	out->noise = noise_of(samples, count);
	out->p1 = percentile(sorted, count, 1);
	out->median = middle(sorted, count);
	out->p99 = percentile(sorted, count, 99);
	free(sorted);
}
