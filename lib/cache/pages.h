/* SPDX-License-Identifier: MIT */
/*
 * Large memory in huge pages, if the system provides them. Accesses are random, so in
 * small pages each would miss the TLB as well as the CPU's cache.
 *
 * Uses system calls, not libc's functions. A library that watches for freed memory may
 * intercept libc's functions and call pp_cache_invalidate(), which takes a lock that the
 * caller holds here.
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

/* Makes the memory zero again. Returns false, and changes nothing, if the memory is locked. */
bool pp_pages_empty(void *at, size_t size);

void pp_pages_unmap(void *at, size_t size);

#endif
