/* SPDX-License-Identifier: MIT */
/* The kinds of scenarios there are, and the machines they run in. */
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

/* What a scenario can bring to light; rules that need one say so. */
enum tries {
	TRIES_REVOKE = 1 << 0,		/* memory is taken away */
	TRIES_IOMMU = 1 << 1,
	TRIES_FOREIGN = 1 << 2,
	TRIES_UNLOAD = 1 << 3,
	TRIES_VERSION = 1 << 4,
	TRIES_ANYTHING = 1 << 5,	/* each does */
};

/* Where the numbers of a row's scenarios come from */
enum series {
	SERIES_VALUES,
	SERIES_ALLOC,
	SERIES_PINS,		/* calls of get_pages, either kind */
	SERIES_MAPS,
	SERIES_KERNEL,		/* events of the kernel's side */
	SERIES_USER,
	SERIES_ENDS,		/* the first and the last of each kind of the user's side */
	SERIES_CLOSE,		/* the first close */
	SERIES_LONG,		/* long calls, and for each the values, in hundredths of its time */
};

/**
 * struct row - a kind of scenario
 * @name: what follows the boot in the id; a format of up to two numbers
 * @keys: the same, for the guest
 * @values: @quick_values of them in a quick run
 * @quick: about so many of a longer series in a quick run
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

/* NULL behind the last. */
const struct row *row_at(unsigned int i);

const char *boot_name(enum boot boot);

#endif
