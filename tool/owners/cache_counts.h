/* SPDX-License-Identifier: MIT */
/* The counters that another process publishes of its registration caches: lib/cache/published.h. */
#ifndef CACHE_COUNTS_H
#define CACHE_COUNTS_H

#include <stdbool.h>
#include <stdint.h>
#include "fds.h"

/** struct cache_counts - totals since the process started */
struct cache_counts {
	uint64_t hits;
	uint64_t misses;
};

/* Reads the counters of file @at. False: it is closed, has another format, or was inherited from another process. */
bool cache_counts_read(const struct fd_at *at, struct cache_counts *out);

/* Parses an open file, without checking its process. *pid receives the pid in the file. False: another format. */
bool cache_counts_parse(int fd, struct cache_counts *out, uint32_t *pid);

#endif
