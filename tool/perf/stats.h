/* SPDX-License-Identifier: MIT */
/* Median, percentiles and noise of samples. */
#ifndef PERF_STATS_H
#define PERF_STATS_H

#include "result.h"

/*
 * Fills @out from @count samples, in the order of measurement. The noise is the range of the medians of five
 * consecutive parts of the samples. With fewer than ten samples it is the range of all samples.
 */
void perf_sum_up(const double *samples, size_t count, struct perf_point *out);

#endif
