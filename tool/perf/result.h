/* SPDX-License-Identifier: MIT */
/* The result of peerpin perf: measured now, or read from the JSON of an earlier run. */
#ifndef PERF_RESULT_H
#define PERF_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	PERF_FACTS = 16,
	PERF_WHY = 256,
};

/**
 * struct perf_point - the times of one operation with one size
 * @count: number of samples
 * @p1, @median, @p99: in ns; with fewer than 100 samples, @p1 and @p99 are the least and the largest
 * @noise: in ns, how far the median moved during the run: stats.h
 * @samples: in ns, in the order of measurement; NULL if the result was read from a file
 */
struct perf_point {
	uint64_t bytes;
	uint64_t count;
	double p1;
	double median;
	double p99;
	double noise;
	double *samples;
};

/**
 * struct perf_row - an operation, at all sizes
 * @name: unique, for programs: "pin_gpu"
 * @beside: name of the row that is the baseline of this row; "": none
 * @rate: true: show GB/s; false: only the time has a meaning
 * @why: why nothing was measured, or not at all sizes; "": all was measured
 */
struct perf_row {
	char name[40];
	char group[16];
	char title[64];
	char beside[40];
	bool rate;
	char why[PERF_WHY];
	size_t nr_points;
	struct perf_point *points;
};

/** struct perf_fact - a line of the head */
struct perf_fact {
	char name[16];
	char value[160];
};

struct perf_result {
	size_t nr_facts;
	struct perf_fact facts[PERF_FACTS];
	size_t nr_rows;
	struct perf_row *rows;
};

__attribute__((format(printf, 3, 4)))
void perf_add_fact(struct perf_result *r, const char *name, const char *format, ...);

/* Adds a row without points. The pointer is valid until the next row is added. */
struct perf_row *perf_add_row(struct perf_result *r, const char *name);
void perf_add_point(struct perf_row *row, const struct perf_point *point);

/* Adds samples to the point of this size, which may be new, and sums all its samples up. */
void perf_add_samples(struct perf_row *row, uint64_t bytes, const double *samples, size_t count);

/* NULL: no row has this name */
const struct perf_row *perf_find_row(const struct perf_result *r, const char *name);
const struct perf_point *perf_find_point(const struct perf_row *row, uint64_t bytes);

/* GB/s (10^9 bytes a second) of the median */
double perf_rate(const struct perf_point *point);

void perf_free(struct perf_result *r);

#endif
