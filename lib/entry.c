// SPDX-License-Identifier: MIT
#include <errno.h>
#include <sys/mman.h>
#include "entry.h"

enum {
	STEP = 1024,	/* entries made memory at a time */
};

/* Addresses only, which cost nothing; what is used of them becomes memory. */
int pp_pool_init(struct pp_pool *pool)
{
	void *at = mmap(NULL, PP_MAX_ENTRIES * sizeof(struct pp_entry), PROT_NONE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (at == MAP_FAILED)
		return -ENOMEM;
	*pool = (struct pp_pool){ .base = at, .free = PP_NO_ENTRY };
	return 0;
}

void pp_pool_end(struct pp_pool *pool)
{
	munmap(pool->base, PP_MAX_ENTRIES * sizeof(struct pp_entry));
}

static bool grow(struct pp_pool *pool)
{
	if (pool->ready == PP_MAX_ENTRIES ||
	    mprotect(pool->base + pool->ready, STEP * sizeof(struct pp_entry), PROT_READ | PROT_WRITE))
		return false;
	pool->ready += STEP;
	return true;
}

static struct pp_entry *take_used(struct pp_pool *pool)
{
	struct pp_entry *e = pp_entry_at(pool, pool->free);

	pool->free = e->link;
	return e;
}

/* What readers may look at meanwhile is left alone: @state, @shared, @stamp. */
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
