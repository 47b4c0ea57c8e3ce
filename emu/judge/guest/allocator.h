/* SPDX-License-Identifier: MIT */
/* judge.ko: what the driver under test allocates. All return 0 or -errno. */
#ifndef JUDGE_ALLOCATOR_H
#define JUDGE_ALLOCATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** struct allocator_leaks - what was not freed */
struct allocator_leaks {
	size_t nr;
	uint64_t bytes;
	char first[160];	/* who allocated it */
};

/** allocator_watch - forget the past, and fail the n-th allocation of that module from now on (0: none) */
int allocator_watch(const char *module, uint32_t nth);

/** allocator_began - whether the kernel has taken that module since, so that its init function had its say */
int allocator_began(bool *out);

/** allocator_failed - whether that has happened */
int allocator_failed(bool *out);

/** allocator_misuse - which call it made with what was gone; @text is empty when it made none */
int allocator_misuse(char *text, size_t size);

/**
 * allocator_leaks - to be called when the module was removed; waits a moment for what is freed later
 *
 * -ENODATA: judge.ko has missed what would change the answer, and may not another time. What it has
 * missed is reported as untold.
 */
int allocator_leaks(struct allocator_leaks *out);

#endif
