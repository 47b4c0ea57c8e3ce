/* SPDX-License-Identifier: MIT */
/* The kinds of scenarios, and the VM configurations in which they run. */
#ifndef VERIFY_ROWS_H
#define VERIFY_ROWS_H

enum boot {
	BOOT_PLAIN,
	BOOT_IOMMU,
	BOOT_IOMMU_LAZY,
	BOOT_NO_SHARING,
	BOOT_HIGH_MEMORY,
	NR_BOOTS,
};

/* What a scenario tests. @needs of struct rule has the bits that a rule needs. */
enum tries {
	TRIES_REVOKE = 1 << 0,		/* GPU memory is revoked */
	TRIES_IOMMU = 1 << 1,
	TRIES_FOREIGN = 1 << 2,
	TRIES_UNLOAD = 1 << 3,
	TRIES_VERSION = 1 << 4,
	TRIES_ANYTHING = 1 << 5,	/* set for every scenario */
};

/* The source of the numbers of a row's scenarios; most series number recorded events */
enum series {
	SERIES_VALUES,		/* @values of struct row */
	SERIES_ALLOC,		/* allocations of the driver, from 1 */
	SERIES_PINS,		/* calls of get_pages, persistent or not */
	SERIES_MAPS,		/* calls of dma_map_pages */
	SERIES_KERNEL,		/* the driver's events */
	SERIES_USER,		/* the test's calls */
	SERIES_ENDS,		/* the test's first and last call of each kind */
	SERIES_CLOSE,		/* the test's first close() */
	SERIES_LONG,		/* the test's long calls; @values are points in time, in percent of the duration */
};

/**
 * struct row - a kind of scenario
 * @name: the scenario's id after "BOOT/"; a format with up to two numbers
 * @keys: keys in the guest's plan; a format with the numbers of @name
 * @quick: approximate number of scenarios in a quick run, if the series is longer
 * @quick_boots, @boots: bits of enum boot for a quick run and for a full run
 * @tries: bits of enum tries
 * @values: @nr_values numbers; a quick run uses the first @quick_values of them
 */
struct row {
	const char *name;
	const char *keys;
	enum series series;
	unsigned int quick;
	unsigned int quick_boots;
	unsigned int boots;
	unsigned int tries;
	unsigned int quick_values;
	unsigned int nr_values;
	unsigned int values[5];
};

/* Returns NULL after the last row. */
const struct row *row_at(unsigned int i);

const char *boot_name(enum boot boot);

#endif
