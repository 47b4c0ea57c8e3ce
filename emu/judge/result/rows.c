// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <string.h>
#include "rows.h"

enum {
	PLAIN = 1 << BOOT_PLAIN,
	IOMMU = 1 << BOOT_IOMMU,
	LAZY = 1 << BOOT_IOMMU_LAZY,
	UNSHARED = 1 << BOOT_NO_SHARING,
	HIGH = 1 << BOOT_HIGH_MEMORY,
	OTHER = 1 << BOOT_OTHER_NVIDIA,
	ALL = PLAIN | IOMMU | LAZY | UNSHARED,
};

/*
 * In the order in which a quick run tries the rows. SERIES_VALUES comes first: its first boot needs no recording.
 * Then come the rows that find most. A row may repeat another row's name and keys, to try fewer of its scenarios with
 * another boot.
 */
static const struct row rows[] = {
	{ "", "", SERIES_VALUES, 1, 0, PLAIN | IOMMU | HIGH | OTHER, ALL | HIGH | OTHER, 0, 1, 1, { 0 } },
	{ "scatter-%u", "scatter=%u", SERIES_VALUES, 1, 0, PLAIN, ALL, 0, 1, 1, { 0 } },
	/* No NVIDIA driver has this version. A driver under test may support the version of any existing NVIDIA driver. */
	{ "version-0x%x", "version=0x%x", SERIES_VALUES, 1, 0, PLAIN, PLAIN, TRIES_VERSION, 1, 1, { 0x30000 } },
	{ "copies-%u", "copies=%u", SERIES_VALUES, 1, 0, PLAIN, PLAIN | IOMMU | UNSHARED, 0, 1, 1, { 2 } },
	{ "delay-%u", "delay=%u", SERIES_VALUES, 1, 0, PLAIN, PLAIN | IOMMU, 0, 1, 1, { 50 } },
	{ "bar1-%u", "bar1=%u", SERIES_VALUES, 1, 0, PLAIN, PLAIN | UNSHARED, 0, 3, 3,
	  { 64 << 10, 1 << 20, 8 << 20 } },
	{ "revoke-at-kernel-%u", "kernel-event=%u:revoke", SERIES_KERNEL, 2, 12, PLAIN | IOMMU, ALL,
	  TRIES_REVOKE, 0, 0, { 0 } },
	{ "foreign-at-user-%u", "user-event=%u:foreign", SERIES_ENDS, 1, 6, PLAIN, PLAIN, TRIES_FOREIGN, 0, 0, { 0 } },
	{ "during-%u+%uus", "user-event=%u:during:%u", SERIES_LONG, 1, 5, PLAIN | IOMMU, PLAIN | IOMMU,
	  TRIES_REVOKE, 3, 5, { 50, 25, 75, 10, 90 } },
	{ "slow-adapter-at-kernel-%u", "kernel-event=%u:revoke-later register=600", SERIES_REGISTRATIONS, 1, 2, PLAIN,
	  PLAIN | IOMMU, TRIES_REVOKE, 0, 0, { 0 } },
	{ "revoke-at-user-%u", "user-event=%u:revoke", SERIES_USER, 1, 10, PLAIN, PLAIN | IOMMU,
	  TRIES_REVOKE, 0, 0, { 0 } },
	/* Stale bus addresses show only with an IOMMU: without it they still reach the memory, which its owner keeps. */
	{ "revoke-at-user-%u", "user-event=%u:revoke", SERIES_USER, 1, 0, IOMMU, 0, TRIES_REVOKE, 0, 0, { 0 } },
	{ "late-memory-%u", "move=%u", SERIES_IMPORTS, 1, 0, PLAIN, PLAIN | IOMMU, TRIES_MOVE, 1, 1, { 100 } },
	{ "kill-at-kernel-%u", "kernel-event=%u:kill", SERIES_KERNEL, 1, 6, PLAIN, PLAIN | IOMMU,
	  TRIES_REVOKE, 0, 0, { 0 } },
	{ "kill-at-user-%u", "user-event=%u:kill", SERIES_USER, 1, 4, PLAIN, PLAIN | IOMMU, TRIES_REVOKE, 0, 0, { 0 } },
	{ "late-close-at-user-%u", "user-event=%u:late-close", SERIES_CLOSE, 1, 0, PLAIN, PLAIN | IOMMU,
	  TRIES_REVOKE, 0, 0, { 0 } },
	{ "exit-at-user-%u", "user-event=%u:exit", SERIES_ENDS, 1, 3, PLAIN, PLAIN | IOMMU, TRIES_REVOKE, 0, 0, { 0 } },
	{ "close-at-user-%u", "user-event=%u:close", SERIES_EACH, 1, 3, PLAIN, PLAIN | IOMMU, TRIES_CLOSE, 0, 0, { 0 } },
	{ "dup-at-user-%u", "user-event=%u:dup", SERIES_EACH, 1, 2, PLAIN, PLAIN, 0, 0, 0, { 0 } },
	{ "unbind-at-user-%u", "user-event=%u:unbind", SERIES_UNBIND, 2, 2, PLAIN, PLAIN | IOMMU, 0, 0, 0, { 0 } },
	{ "inherit-at-user-%u", "user-event=%u:inherit", SERIES_ENDS, 1, 5, PLAIN, PLAIN, 0, 0, 0, { 0 } },
	{ "fork-at-user-%u", "user-event=%u:fork", SERIES_ENDS, 1, 2, PLAIN, PLAIN, 0, 0, 0, { 0 } },
	{ "rmmod-at-user-%u", "user-event=%u:rmmod", SERIES_ENDS, 1, 2, PLAIN, PLAIN, TRIES_UNLOAD, 0, 0, { 0 } },
	{ "fail-get_pages-%u", "fail=get_pages:%u", SERIES_PINS, 1, 4, PLAIN, PLAIN, 0, 0, 0, { 0 } },
	{ "fail-dma_map-%u", "fail=dma_map:%u", SERIES_MAPS, 1, 4, PLAIN, PLAIN | IOMMU, 0, 0, 0, { 0 } },
	{ "far-peer-%u", "fail=far_peer:%u", SERIES_MAPS, 1, 2, PLAIN, PLAIN, 0, 0, 0, { 0 } },
	{ "alloc-%u", "alloc=%u", SERIES_ALLOC, 8, 24, PLAIN, PLAIN, 0, 0, 0, { 0 } },
};

const struct row *row_at(unsigned int i)
{
	return i < sizeof(rows) / sizeof(rows[0]) ? &rows[i] : NULL;
}

void row_kind(const struct row *row, char *out)
{
	snprintf(out, ROW_KIND_MAX, "%.*s", (int)strcspn(row->name, "%"), row->name);
	if (*out)
		strcpy(strrchr(out, '-'), row->quick_boots == IOMMU ? " (IOMMU)" : "");
	else
		strcpy(out, "no fault");
}

const char *boot_name(enum boot boot)
{
	static const char *const names[NR_BOOTS] = {
		[BOOT_PLAIN] = "plain",
		[BOOT_IOMMU] = "iommu",
		[BOOT_IOMMU_LAZY] = "iommu-lazy",
		[BOOT_NO_SHARING] = "no-sharing",
		[BOOT_HIGH_MEMORY] = "high-memory",
		[BOOT_OTHER_NVIDIA] = "other-nvidia",
	};

	return names[boot];
}
