/* SPDX-License-Identifier: MIT */
/*
 * Large memory that is looked up at random, which misses the TLB as often as the
 * cache: in huge pages where the system gives them.
 *
 * By system calls, not by libc's functions: those are intercepted by who wants to
 * know of memory that goes and tells the cache, whose lock may be held here.
 */
#ifndef PP_PAGES_H
#define PP_PAGES_H

#include <stdbool.h>
#include <stddef.h>

enum {
	PP_HUGE_PAGE = 2 << 20,
};

/* @prot as of mmap(); zeroes; NULL: there is no memory */
void *pp_pages_map(size_t size, int prot);

/* Zeroes again; false: it is locked in memory, and stays as it is. */
bool pp_pages_empty(void *at, size_t size);

void pp_pages_unmap(void *at, size_t size);

#endif
