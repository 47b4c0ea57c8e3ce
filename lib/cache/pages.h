/* SPDX-License-Identifier: MIT */
/*
 * Large memory with random accesses, each of which misses the TLB as well as the
 * CPU's cache: in huge pages if the system provides them.
 *
 * Uses system calls, not libc's functions. A library that watches for freed memory may
 * intercept those and call pp_cache_invalidate(), which takes the lock held here.
 */
#ifndef PP_PAGES_H
#define PP_PAGES_H

#include <stdbool.h>
#include <stddef.h>

enum {
	PP_HUGE_PAGE = 2 << 20,
};

/* @prot as for mmap(). The memory is zeroed. NULL: no memory */
void *pp_pages_map(size_t size, int prot);

/* Makes the memory zero again. Returns false if it is locked; then it stays unchanged. */
bool pp_pages_empty(void *at, size_t size);

void pp_pages_unmap(void *at, size_t size);

#endif
