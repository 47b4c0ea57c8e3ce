// SPDX-License-Identifier: MIT
#include <stdint.h>
#include <sys/mman.h>
#include "pages.h"

static void *map(size_t size, int prot)
{
	void *at = mmap(NULL, size, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

/* A huge page begins at a multiple of its size. */
static void *map_huge(size_t size, int prot)
{
	char *at = map(size + PP_HUGE_PAGE, prot);
	size_t before, behind;

	if (!at)
		return NULL;
	before = -(uintptr_t)at % PP_HUGE_PAGE;
	behind = PP_HUGE_PAGE - before;
	if (before)
		munmap(at, before);
	munmap(at + before + size, behind);
	madvise(at + before, size, MADV_HUGEPAGE);
	return at + before;
}

void *pp_pages_map(size_t size, int prot)
{
	return size < PP_HUGE_PAGE ? map(size, prot) : map_huge(size, prot);
}

void pp_pages_unmap(void *at, size_t size)
{
	munmap(at, size);
}
