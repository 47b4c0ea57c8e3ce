// SPDX-License-Identifier: MIT
#include "room.h"

enum {
	FIRST_PATIENCE = 4,
	MAX_PATIENCE = 1024,
};

/* ---- waiting for what is on its way out --------------------------------------- */

static bool leaves(const struct pp_cache *c, uint64_t doomed_by)
{
	const struct pp_entry *oldest = TAILQ_FIRST(&c->leaving);

	return oldest && oldest->stamp <= doomed_by;
}

static void await_leaving(struct pp_cache *c)
{
	uint64_t now = c->clock;

	while (leaves(c, now))
		pthread_cond_wait(&c->changed, &c->lock);
}

static bool exceeds_budget(const struct pp_cache *c)
{
	const struct pp_cache_attr *a = &c->attr;

	return (a->max_bytes && c->stats.bytes + c->doomed_bytes > a->max_bytes) ||
	       (a->max_entries && c->stats.entries + c->doomed > a->max_entries);
}

void pp_room_await_budget(struct pp_cache *c)
{
	uint64_t now;

	pthread_mutex_lock(&c->lock);
	now = c->clock;
	while (exceeds_budget(c) && leaves(c, now))
		pthread_cond_wait(&c->changed, &c->lock);
	pthread_mutex_unlock(&c->lock);
}

/* ---- making room ------------------------------------------------------------- */

void pp_room_attempt(struct pp_cache *c, struct pp_search *s)
{
	pthread_mutex_lock(&c->lock);
	s->unpins = c->stats.unpins;
	pthread_mutex_unlock(&c->lock);
}

static bool evict_older(struct pp_cache *c, uint64_t than,
			struct pp_entries *doomed)
{
	const struct pp_entry *oldest = TAILQ_FIRST(&c->idle);

	return oldest && oldest->stamp <= than && pp_entry_evict(c, doomed);
}

static bool search(struct pp_cache *c, struct pp_search *s,
		   struct pp_entries *doomed)
{
	if (s->last)
		return false;
	if (!s->began)
		s->began = c->clock;
	if (evict_older(c, s->began, doomed))
		return true;
	s->last = true;
	await_leaving(c);
	return c->stats.unpins != s->unpins;
}

bool pp_room_make(struct pp_cache *c, struct pp_search *s)
{
	struct pp_entries doomed = TAILQ_HEAD_INITIALIZER(doomed);
	bool room;

	pthread_mutex_lock(&c->lock);
	room = search(c, s, &doomed);
	pthread_mutex_unlock(&c->lock);
	pp_entries_unpin(c, &doomed);
	return room;
}

/* ---- what was refused --------------------------------------------------------- */

/*
 * Nothing is lost by trying in an empty cache; with less in use, more can be
 * evicted than the last time; and other processes may have made room since.
 */
static bool may_try_again(const struct pp_cache *c)
{
	return !c->stats.entries || c->used_bytes < c->refusal.beside ||
	       c->stats.misses >= c->refusal.until;
}

static bool within_budget(const struct pp_cache *c, uint64_t length)
{
	uint64_t max = c->attr.max_bytes;

	return !max || (c->used_bytes < max && length <= max - c->used_bytes);
}

bool pp_room_affords(const struct pp_cache *c, const struct pp_range *range,
		     bool whole)
{
	uint64_t length = pp_range_length(range);

	if (!within_budget(c, length))
		return false;
	return !whole || length < c->refusal.length || may_try_again(c);
}

static uint64_t min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

void pp_room_refused(struct pp_cache *c, const struct pp_range *range)
{
	struct pp_refusal *r = &c->refusal;
	uint64_t length = pp_range_length(range);

	r->length = min(r->length, length);
	r->beside = c->used_bytes - length;
	r->until = c->stats.misses + r->patience;
	r->patience = min(2 * r->patience, MAX_PATIENCE);
}

void pp_room_granted(struct pp_cache *c, const struct pp_range *range)
{
	if (pp_range_length(range) >= c->refusal.length)
		pp_room_reset(c);
}

void pp_room_reset(struct pp_cache *c)
{
	c->refusal = (struct pp_refusal) {
		.length = UINT64_MAX,
		.patience = FIRST_PATIENCE,
	};
}
