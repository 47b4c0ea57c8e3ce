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
	BOOT_OTHER_NVIDIA,	/* the emulator plays the NVIDIA driver that --nvidia did not select */
	NR_BOOTS,
};

/* What a scenario tests. @needs of struct rule has the bits that a rule needs. */
enum tries {
	TRIES_REVOKE = 1 << 0,		/* GPU memory is revoked that the driver has pinned or imported */
	TRIES_IOMMU = 1 << 1,
	TRIES_FOREIGN = 1 << 2,
	TRIES_UNLOAD = 1 << 3,
	TRIES_VERSION = 1 << 4,
	TRIES_ANYTHING = 1 << 5,	/* set for every scenario */
	TRIES_CLOSE = 1 << 10,		/* the device is closed, and the process lives */
	TRIES_CALLBACK = 1 << 14,	/* a free callback runs */
	TRIES_CPU_MAP = 1 << 9,		/* memory is revoked while the test has a device of the driver mapped */
	TRIES_MOVE = 1 << 13,		/* imported memory arrives late */
	/* what the recording shows of the driver */
	TRIES_PIN = 1 << 11,		/* get_pages was called, persistent or not */
	TRIES_IMPORT = 1 << 12,		/* a dma-buf was imported */
	TRIES_MAP = 1 << 6,		/* dma_map_pages was called */
	TRIES_PERSISTENT = 1 << 7,	/* get_pages_persistent was called */
	TRIES_PEERPIN = 1 << 8,		/* memory was pinned through peerpin */
};

/* The source of the numbers of a row's scenarios; most series number recorded events */
enum series {
	SERIES_VALUES,		/* @values of struct row */
	SERIES_IMPORTS,		/* the same, if the driver imports dma-bufs */
	SERIES_ALLOC,		/* allocations of the driver, from 1 */
	SERIES_PINS,		/* calls of get_pages, persistent or not */
	SERIES_MAPS,		/* calls of dma_map_pages, and mappings of dma-bufs */
	SERIES_KERNEL,		/* the driver's events */
	SERIES_REGISTRATIONS,	/* the driver's events get_pages, if the test uses an RDMA adapter */
	SERIES_USER,		/* the test's calls */
	SERIES_ENDS,		/* the test's first and last call of each kind */
	SERIES_EACH,		/* as SERIES_ENDS in a quick run; the test's calls in a full run */
	SERIES_CLOSE,		/* the test's first close() */
	SERIES_UNBIND,		/* a call of each kind that may transfer data, then as SERIES_ENDS */
	SERIES_LONG,		/* the test's long calls; @values are points in time, in percent of the duration */
};

/**
 * struct row - a kind of scenario
 * @name: the scenario's id after "BOOT/"; a format with up to two numbers
 * @keys: keys in the guest's plan; a format with the numbers of @name
 * @first: number of scenarios that a quick run tries before all other scenarios, for longer than its usual time;
 *	put_kernel() and put_user() may add some
 * @quick: approximate number of scenarios in a quick run, if the series is longer
 * @quick_boots, @boots: bits of enum boot for a quick run and for a full run
 * @tries: bits of enum tries
 * @values: @nr_values numbers; a quick run uses the first @quick_values of them
 *
 * Each row has a @first of 1 or more, so that a quick run tries each kind of scenario.
 */
struct row {
	const char *name;
	const char *keys;
	enum series series;
	unsigned int first;
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

enum { ROW_KIND_MAX = 32 };

/* Writes the kind of the row's scenarios to @out, of ROW_KIND_MAX bytes: "revoke-at-kernel", or "no fault". */
void row_kind(const struct row *row, char *out);

const char *boot_name(enum boot boot);

#endif
