/* SPDX-License-Identifier: MIT */
/* The kernel's memory counters. The number of pinned pages is right if no other program pins pages. */
#ifndef TEST_VMSTAT_H
#define TEST_VMSTAT_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Value of a line of /proc/vmstat; 0: no such line. */
static inline long vmstat(const char *name)
{
	FILE *f = fopen("/proc/vmstat", "re");
	char line[128], found[64];
	long value = 0, n;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%63s %ld", found, &n) == 2 && !strcmp(found, name))
			value = n;
	if (f)
		fclose(f);
	return value;
}

/* A read of this file adds the counts of each CPU to the totals. */
static inline void vmstat_refresh(void)
{
	int node = open("/proc/sys/vm/stat_refresh", O_RDONLY | O_CLOEXEC);
	char byte;

	if (read(node, &byte, 1) < 0)
		perror("/proc/sys/vm/stat_refresh");
	close(node);
}

static inline long vmstat_pinned(void)
{
	vmstat_refresh();
	return vmstat("nr_foll_pin_acquired") - vmstat("nr_foll_pin_released");
}

/* Wait a while for @pages pinned pages: the pages of an ended process are unpinned a moment later. */
static inline bool vmstat_pinned_is(long pages)
{
	int i;

	for (i = 0; i < 300 && vmstat_pinned() != pages; i++)
		usleep(10000);
	return vmstat_pinned() == pages;
}

#endif
