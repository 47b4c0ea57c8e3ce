// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include "entry.h"

void pp_entry_count(struct pp_cache *c, const struct pp_entry *e)
{
	uint64_t length = pp_range_length(&e->range);

	c->stats.entries++;
	c->stats.bytes += length;
	c->used_bytes += e->users ? length : 0;
}

void pp_entry_discount(struct pp_cache *c, const struct pp_entry *e)
{
	uint64_t length = pp_range_length(&e->range);

	c->stats.entries--;
	c->stats.bytes -= length;
	c->used_bytes -= e->users ? length : 0;
}

static void doom(struct pp_cache *c, struct pp_entry *e,
		 struct pp_entries *doomed)
{
	pp_entry_discount(c, e);
	c->doomed++;
	c->doomed_bytes += pp_range_length(&e->range);
	e->stamp = ++c->clock;
	TAILQ_INSERT_TAIL(&c->leaving, e, leaving);
	TAILQ_INSERT_TAIL(doomed, e, link);
}

void pp_entry_detach(struct pp_cache *c, struct pp_entry *e,
		     struct pp_entries *doomed)
{
	pp_index_remove(&c->index, &e->range);
	e->indexed = false;
	if (e->users)
		return;
	TAILQ_REMOVE(&c->idle, e, link);
	doom(c, e, doomed);
}

static bool over_budget(const struct pp_cache *c)
{
	const struct pp_cache_attr *a = &c->attr;

	return (a->max_bytes && c->stats.bytes > a->max_bytes) ||
	       (a->max_entries && c->stats.entries > a->max_entries);
}

bool pp_entry_evict(struct pp_cache *c, struct pp_entries *doomed)
{
	struct pp_entry *e = TAILQ_FIRST(&c->idle);

	if (!e)
		return false;
	pp_entry_detach(c, e, doomed);
	c->stats.evictions++;
	return true;
}

void pp_entries_trim(struct pp_cache *c, struct pp_entries *doomed)
{
	while (over_budget(c) && pp_entry_evict(c, doomed))
		;
}

void pp_entry_use(struct pp_cache *c, struct pp_entry *e)
{
	if (e->users++)
		return;
	TAILQ_REMOVE(&c->idle, e, link);
	c->used_bytes += pp_range_length(&e->range);
}

void pp_entry_unuse(struct pp_cache *c, struct pp_entry *e,
		    struct pp_entries *doomed)
{
	if (--e->users)
		return;
	c->used_bytes -= pp_range_length(&e->range);
	if (!e->indexed) {
		doom(c, e, doomed);
		return;
	}
	e->stamp = ++c->clock;
	TAILQ_INSERT_TAIL(&c->idle, e, link);
	pp_entries_trim(c, doomed);
}

void pp_entries_detach(struct pp_cache *c, const struct pp_range *range,
		       struct pp_entries *doomed)
{
	struct pp_range *r;

	while ((r = pp_index_first(&c->index, range)))
		pp_entry_detach(c, pp_entry_of(r), doomed);
}

/* Without @lock. */
static void unpin_one(struct pp_cache *c, struct pp_entry *e)
{
	c->ops.unpin(c->arg, e->pub.reg);
	pthread_mutex_lock(&c->lock);
	c->stats.unpins++;
	c->doomed--;
	c->doomed_bytes -= pp_range_length(&e->range);
	TAILQ_REMOVE(&c->leaving, e, leaving);
	pthread_cond_broadcast(&c->changed);
	pthread_mutex_unlock(&c->lock);
	free(e);
}

void pp_entries_unpin(struct pp_cache *c, struct pp_entries *doomed)
{
	struct pp_entry *e;

	while ((e = TAILQ_FIRST(doomed))) {
		TAILQ_REMOVE(doomed, e, link);
		unpin_one(c, e);
	}
}
