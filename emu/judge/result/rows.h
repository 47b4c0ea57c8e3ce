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

/* What a scenario tests; struct rule says which of these a rule needs. */
enum tries {
	TRIES_REVOKE = 1 << 0,		/* GPU memory is revoked */
	TRIES_IOMMU = 1 << 1,
	TRIES_FOREIGN = 1 << 2,
	TRIES_UNLOAD = 1 << 3,
	TRIES_VERSION = 1 << 4,
	TRIES_ANYTHING = 1 << 5,	/* set for every scenario */
};

/* The source of the numbers of a row's scenarios */
enum series {
	SERIES_VALUES,
	SERIES_ALLOC,
	SERIES_PINS,		/* calls of get_pages, persistent or not */
	SERIES_MAPS,
	SERIES_KERNEL,		/* the kernel's events */
	SERIES_USER,
	SERIES_ENDS,		/* the first and last of each kind of the test's calls */
	SERIES_CLOSE,		/* the first close */
	SERIES_LONG,		/* long calls; the values are points in time, in percent of the duration */
};

/**
 * struct row - a kind of scenario
 * @name: the part of the id behind the boot; a format with up to two numbers
 * @keys: the guest's keys, a format with the same numbers
 * @values: @nr_values numbers; a quick run uses the first @quick_values
 * @quick: approximate number of scenarios of a longer series in a quick run
 * @quick_boots, @boots: bits of enum boot
 * @tries: bits of enum tries
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

/* NULL after the last row. */
const struct row *row_at(unsigned int i);

const char *boot_name(enum boot boot);

#endif
