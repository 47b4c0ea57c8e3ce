/* SPDX-License-Identifier: MIT */
/* judge.ko: watches the allocations of the driver under test. All functions return 0 or -errno. */
#ifndef JUDGE_ALLOCATOR_H
#define JUDGE_ALLOCATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** struct allocator_leaks - allocations that were not freed */
struct allocator_leaks {
	size_t nr;
	uint64_t bytes;
	char first[160];	/* the function that made the first leaked allocation */
};

/** allocator_watch - reset judge.ko, watch @module, and fail its @nth allocation from now on (0: fail none) */
int allocator_watch(const char *module, uint32_t nth);

/** allocator_began - whether the module was loaded since allocator_watch(), so that its init function ran */
int allocator_began(bool *out);

/** allocator_failed - whether an allocation was made to fail */
int allocator_failed(bool *out);

/** allocator_misuse - the first call with an unregistered peer; @text is empty if there was no such call */
int allocator_misuse(char *text, size_t size);

/** allocator_stops - the number of long calls of stop(), its name, and the longest time; @text is empty without such a call */
int allocator_stops(char *text, size_t size);

/**
 * allocator_leaks - call after the module was removed; waits up to a second for deferred frees
 *
 * -ENODATA: judge.ko missed allocations, so leaks may be missing; run the scenario again. The report has an
 * "untold" line for the missed allocations.
 */
int allocator_leaks(struct allocator_leaks *out);

#endif
