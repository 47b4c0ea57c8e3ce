// SPDX-License-Identifier: MIT
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "units.h"

struct text text_bytes(uint64_t bytes)
{
	static const char *const unit[] = { "KiB", "MiB", "GiB", "TiB" };
	double value = (double)bytes / 1024;
	struct text t;
	int i = 0;

	if (bytes < 1024) {
		snprintf(t.at, sizeof(t.at), "%" PRIu64 " byte%s", bytes,
			 bytes == 1 ? "" : "s");
		return t;
	}
	while (value >= 1024 && i < 3) {
		value /= 1024;
		i++;
	}
	snprintf(t.at, sizeof(t.at), "%.1f %s", value, unit[i]);
	return t;
}

struct text text_mib(uint64_t bytes)
{
	struct text t;

	snprintf(t.at, sizeof(t.at), "%" PRIu64 " MiB", bytes >> 20);
	return t;
}

struct text text_time(uint64_t ns)
{
	struct text t;

	if (ns < 1000000)
		snprintf(t.at, sizeof(t.at), "%.1f us", (double)ns / 1e3);
	else if (ns < 10000000000)
		snprintf(t.at, sizeof(t.at), "%.2f ms", (double)ns / 1e6);
	else
		snprintf(t.at, sizeof(t.at), "%.1f s", (double)ns / 1e9);
	return t;
}

/* One byte per ns is 1 GB/s. */
struct text text_rate(uint64_t bytes, uint64_t ns)
{
	struct text t;

	snprintf(t.at, sizeof(t.at), "%.2f GB/s",
		 ns ? (double)bytes / (double)ns : 0);
	return t;
}

static int shift_of(const char *suffix)
{
	static const char letters[] = "KMG";
	const char *at;

	if (!*suffix)
		return 0;
	at = strchr(letters, toupper((unsigned char)*suffix));
	if (!at || suffix[1])
		return -EINVAL;
	return 10 * (int)(at - letters + 1);
}

int parse_number(const char *text, uint64_t *out)
{
	size_t digits = strspn(text, "0123456789");

	return text[digits] ? -EINVAL : parse_size(text, out);
}

int parse_size(const char *text, uint64_t *out)
{
	unsigned long long n;
	char *end;
	int shift;

	if (!isdigit((unsigned char)*text))
		return -EINVAL;
	errno = 0;
	n = strtoull(text, &end, 10);
	shift = shift_of(end);
	if (shift < 0)
		return shift;
	if (errno || n > UINT64_MAX >> shift)
		return -ERANGE;
	*out = (uint64_t)n << shift;
	return 0;
}
