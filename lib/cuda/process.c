// SPDX-License-Identifier: MIT
/*
 * getpid() is a system call, too slow for a cache hit. pthread_atfork() misses
 * children made by clone(). So the mark lies in a page that the kernel zeroes in
 * every child: a mark of 0 there means a new process.
 */
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>
#include "process.h"

_Atomic(uint64_t) *pp_process_page;
static _Atomic uint64_t last_mark;	/* a child continues its parent's count */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_page(void)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		return;
	if (madvise(at, size, MADV_WIPEONFORK))
		munmap(at, size);
	else
		pp_process_page = at;
}

static uint64_t new_mark(void)
{
	uint64_t want = atomic_fetch_add(&last_mark, 1) + 1;
	uint64_t found = 0;

	/* the mark of the first thread that stores one becomes the mark of the process */
	return atomic_compare_exchange_strong(pp_process_page, &found, want) ?
	       want : found;
}

uint64_t pp_process_mark(void)
{
	uint64_t mark;

	pthread_once(&once, make_page);
	if (!pp_process_page)
		return 0;
	mark = atomic_load_explicit(pp_process_page, memory_order_relaxed);
	return mark ? mark : new_mark();
}
