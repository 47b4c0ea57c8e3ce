/* SPDX-License-Identifier: MIT */
/* Addresses of kernel functions */
#ifndef TEST_KALLSYMS_H
#define TEST_KALLSYMS_H

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "vmtest.h"

/* Addresses from @start to below @end */
struct text {
	unsigned long start, end;
};

static inline unsigned long symbol_at(const char *name)
{
	FILE *f = fopen("/proc/kallsyms", "re");
	unsigned long at, found = 0;
	char is[128];

	while (f && !found && fscanf(f, "%lx %*c %127s%*[^\n]", &at, is) == 2)
		found = strcmp(is, name) ? 0 : at;
	if (f)
		fclose(f);
	return found;
}

static inline unsigned long symbol_after(unsigned long start)
{
	FILE *f = fopen("/proc/kallsyms", "re");
	unsigned long at, next = ULONG_MAX;

	while (f && fscanf(f, "%lx%*[^\n]", &at) == 1)
		if (at > start && at < next)
			next = at;
	if (f)
		fclose(f);
	return next;
}

static inline struct text text_of(const char *function)
{
	struct text text = { .start = symbol_at(function) };

	if (!text.start)
		vmtest_end(VMTEST_FAILED, "/proc/kallsyms has no %s", function);
	else
		text.end = symbol_after(text.start);
	return text;
}

#endif
