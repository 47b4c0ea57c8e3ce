/* SPDX-License-Identifier: MIT */
/*
 * Large memory that is looked up at random, which misses the TLB as often as the
 * cache: in huge pages where the system gives them.
 */
#ifndef PP_PAGES_H
#define PP_PAGES_H

#include <stddef.h>

enum {
	PP_HUGE_PAGE = 2 << 20,
};

/* @prot as of mmap(); zeroes; NULL: there is no memory */
void *pp_pages_map(size_t size, int prot);

void pp_pages_unmap(void *at, size_t size);

#endif
