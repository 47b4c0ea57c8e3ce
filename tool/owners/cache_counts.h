/* SPDX-License-Identifier: MIT */
/* What another process publishes of its registration caches: lib/cache/published.h. */
#ifndef CACHE_COUNTS_H
#define CACHE_COUNTS_H

#include <stdbool.h>
#include <stdint.h>
#include "fds.h"

/** struct cache_counts - since the process began */
struct cache_counts {
	uint64_t hits;
	uint64_t misses;
};

/* False: it is gone, is none, or is another process's that this one has inherited */
bool cache_counts_read(const struct fd_at *at, struct cache_counts *out);

/* The same of an open file, whoever's it is */
bool cache_counts_parse(int fd, struct cache_counts *out, uint32_t *pid);

#endif
