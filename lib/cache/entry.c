// SPDX-License-Identifier: MIT
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>
#include "entry.h"
#include "pages.h"

enum {
	MOST = PP_HUGE_PAGE / sizeof(struct pp_entry),
};

/* Number of entries to add: at first one page of them (4 to 64 KiB). Later the pool doubles, by at most MOST. */
static uint32_t next_step(const struct pp_pool *pool)
{
	if (!pool->ready)
		return (uint32_t)sysconf(_SC_PAGESIZE) / sizeof(struct pp_entry);
	return pool->ready < MOST ? pool->ready : MOST;
}

static bool allow(void *at, size_t size)
{
	return !mprotect(at, size, PROT_READ | PROT_WRITE);
}

/* mprotect() rounds the size up to whole pages. */
static bool grow(struct pp_pool *pool)
{
	uint32_t step = next_step(pool);

	if (pool->ready == pool->most || !allow(pool->base + pool->ready, step * sizeof(struct pp_entry)) ||
	    !allow(pool->tally, (pool->ready + step) * sizeof(struct pp_tally)))
		return false;
	pool->ready += step;
	return true;
}

static size_t size_of(uint32_t most)
{
	return most * (sizeof(struct pp_entry) + sizeof(struct pp_tally));
}

/*
 * Reserves addresses only; grow() adds memory. mlockall(MCL_FUTURE) and RLIMIT_AS limit
 * reserved addresses, too, so the pool halves its maximum until the reservation succeeds.
 */
int pp_pool_init(struct pp_pool *pool)
{
	uint32_t most = PP_MAX_ENTRIES;
	void *at;

	while (!(at = pp_pages_map(size_of(most), PROT_NONE)) && most > MOST)
		most /= 2;
	if (!at)
		return -ENOMEM;
	*pool = (struct pp_pool){ .base = at, .most = most, .ever = PP_FIRST_ENTRY, .free = PP_NO_ENTRY };
	pool->tally = (struct pp_tally *)(pool->base + most);
	if (grow(pool))
		return 0;
	pp_pool_end(pool);
	return -ENOMEM;
}

void pp_pool_end(struct pp_pool *pool)
{
	pp_pages_unmap(pool->base, size_of(pool->most));
}

static struct pp_entry *take_used(struct pp_pool *pool)
{
	struct pp_entry *e = pp_entry_at(pool, pool->free);

	pool->free = e->link;
	return e;
}

/* Readers may still access the entry: so @shared and @stamp are not reset, and @state is set atomically. */
struct pp_entry *pp_pool_take(struct pp_pool *pool)
{
	struct pp_entry *e;

	if (pool->free != PP_NO_ENTRY)
		e = take_used(pool);
	else if (pool->ever < pool->ready || grow(pool))
		e = pp_entry_at(pool, pool->ever++);
	else
		return NULL;
	e->pub = (struct pp_cache_entry){ 0 };
	e->word = NULL;
	pp_entry_set_state(e, PP_ORPHAN);
	return e;
}

void pp_pool_give(struct pp_pool *pool, struct pp_entry *e)
{
	pp_entry_set_state(e, PP_FREE);
	e->link = pool->free;
	pool->free = pp_entry_index(pool, e);
}
