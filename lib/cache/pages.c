// SPDX-License-Identifier: MIT
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "pages.h"

static void *map(size_t size, int prot)
{
	const long flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
	long at = syscall(SYS_mmap, NULL, size, (long)prot, flags, -1L, 0L);

	return at == -1 ? NULL : (void *)at;
}

static bool advise(void *at, size_t size, long advice)
{
	return !syscall(SYS_madvise, at, size, advice);
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
		pp_pages_unmap(at, before);
	pp_pages_unmap(at + before + size, behind);
	advise(at + before, size, MADV_HUGEPAGE);
	return at + before;
}

void *pp_pages_map(size_t size, int prot)
{
	return size < PP_HUGE_PAGE ? map(size, prot) : map_huge(size, prot);
}

bool pp_pages_empty(void *at, size_t size)
{
	return advise(at, size, MADV_DONTNEED);
}

void pp_pages_unmap(void *at, size_t size)
{
	syscall(SYS_munmap, at, size);
}
