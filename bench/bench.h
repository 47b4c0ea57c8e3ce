/* SPDX-License-Identifier: MIT */
/*
 * What the benchmarks share. Each is a list of cases as test/vm/harness/vmtest.h has
 * them: it prints medians, and a case fails when one is worse than promised.
 */
#ifndef BENCH_H
#define BENCH_H

#include "test/vm/core/pin.h"
#include "test/vm/harness/vmtest.h"
#include "claim.h"
#include "figure.h"

#define N(array) (sizeof(array) / sizeof(*(array)))

static inline int bench_compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static inline uint64_t bench_median(uint64_t *values, unsigned int n)
{
	qsort(values, n, sizeof(*values), bench_compare);
	return values[n / 2];
}

/* A benchmark that cannot measure says why, and prints no figure. */
static inline void bench_need(int ok, const char *what, int error)
{
	if (ok)
		return;
	fprintf(stderr, "bench: %s: %s\n", what, strerror(abs(error)));
	exit(2);
}

/* The project's own machine, of which each device is QEMU's */
static inline bool bench_is_emulated(void)
{
	return !access("/dev/emugpu", F_OK);
}

#endif
