/* SPDX-License-Identifier: MIT */
/* test/stall.ko, which makes a function of the kernel late. Calls return 0 or -errno. */
#ifndef TEST_STALL_H
#define TEST_STALL_H

#include <stdio.h>

#include "module.h"

/* Each call of @function sleeps for @ms before the function runs, until stall_end(). */
static inline int stall(const char *function, unsigned int ms)
{
	char parameters[128];

	snprintf(parameters, sizeof(parameters), "function=%s ms=%u", function, ms);
	return module_load("test/stall.ko", parameters);
}

/* Number of calls that have begun to sleep */
static inline int stall_count(void)
{
	FILE *f = fopen("/sys/module/stall/parameters/stalled", "re");
	int count = 0;

	if (f && fscanf(f, "%d", &count) != 1)
		count = 0;
	if (f)
		fclose(f);
	return count;
}

/* Waits until no call sleeps. */
static inline int stall_end(void)
{
	return module_remove("stall");
}

#endif
