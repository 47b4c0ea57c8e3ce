// SPDX-License-Identifier: MIT
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>
#include "entry.h"
#include "pages.h"

enum {
	MOST = PP_HUGE_PAGE / sizeof(struct pp_entry),
};

/* Entries to add: those of one page (4 to 64 KiB) at first; then the pool doubles, by MOST entries at most. */
static uint32_t next_step(const struct pp_pool *pool)
{
	if (!pool->ready)
		return (uint32_t)sysconf(_SC_PAGESIZE) / sizeof(struct pp_entry);
	return pool->ready < MOST ? pool->ready : MOST;
}

static bool grow(struct pp_pool *pool)
{
	uint32_t step = next_step(pool);

	if (pool->ready == pool->most ||
	    mprotect(pool->base + pool->ready, step * sizeof(struct pp_entry), PROT_READ | PROT_WRITE))
		return false;
	pool->ready += step;
	return true;
}

/*
 * Reserves addresses, which cost nothing; grow() adds memory. Under mlockall(MCL_FUTURE)
 * or RLIMIT_AS the addresses do cost, so the pool halves its maximum until they fit.
 */
int pp_pool_init(struct pp_pool *pool)
{
	uint32_t most = PP_MAX_ENTRIES;
	void *at;

	while (!(at = pp_pages_map(most * sizeof(struct pp_entry), PROT_NONE)) && most > MOST)
		most /= 2;
	if (!at)
		return -ENOMEM;
	*pool = (struct pp_pool){ .base = at, .most = most, .ever = PP_FIRST_ENTRY, .free = PP_NO_ENTRY };
	if (grow(pool))
		return 0;
	pp_pool_end(pool);
	return -ENOMEM;
}

void pp_pool_end(struct pp_pool *pool)
{
	pp_pages_unmap(pool->base, pool->most * sizeof(struct pp_entry));
}

static struct pp_entry *take_used(struct pp_pool *pool)
{
	struct pp_entry *e = pp_entry_at(pool, pool->free);

	pool->free = e->link;
	return e;
}

/* Does not reset @shared and @stamp, and sets @state atomically, as readers may still use them. */
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
