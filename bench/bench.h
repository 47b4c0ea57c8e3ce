/* SPDX-License-Identifier: MIT */
/*
 * Shared by the benchmarks. A benchmark is a list of cases of test/vm/harness/vmtest.h and prints
 * medians. A case fails if a claim is broken.
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

/* Exit with the reason if the benchmark cannot measure. */
static inline void bench_need(int ok, const char *what, int error)
{
	if (ok)
		return;
	fprintf(stderr, "bench: %s: %s\n", what, strerror(abs(error)));
	exit(2);
}

/* The VM of the project, in which QEMU emulates all devices */
static inline bool bench_is_emulated(void)
{
	return !access("/dev/emugpu", F_OK);
}

#endif
