// SPDX-License-Identifier: MIT
#include <stdio.h>
#include "label.h"

static void label(char *out, double figure, double step, const char *const *units)
{
	for (; figure >= step && units[1]; units++)
		figure /= step;
	snprintf(out, LABEL_MAX, "%.3g %s", figure, *units);
}

void label_ns(char *out, double ns)
{
	static const char *const units[] = { "ns", "us", "ms", "s", NULL };

	if (ns)
		label(out, ns * 1.0000001, 1000, units);
	else
		snprintf(out, LABEL_MAX, "0");
}

void label_bytes(char *out, double bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", NULL };

	label(out, bytes, 1024, units);
}

void label_count(char *out, double count)
{
	unsigned long n = count + 0.5;

	if (n >= 1000000)
		snprintf(out, LABEL_MAX, "%lu,%03lu,%03lu", n / 1000000, n / 1000 % 1000, n % 1000);
	else if (n >= 1000)
		snprintf(out, LABEL_MAX, "%lu,%03lu", n / 1000, n % 1000);
	else
		snprintf(out, LABEL_MAX, "%lu", n);
}
