// SPDX-License-Identifier: MIT
#include "room.h"

enum {
	FIRST_PATIENCE = 4,
	MAX_PATIENCE = 1024,
};

/* ---- waiting for unpins -------------------------------------------------------- */

static bool leaves(const struct pp_cache *c, uint32_t doomed_by)
{
	const struct pp_entry *oldest = pp_list_first(&c->leaving, &c->pool);

	return oldest && (int32_t)(oldest->queued - doomed_by) <= 0;
}

bool pp_room_exceeded(const struct pp_cache *c, const struct pp_doomed *but)
{
	const struct pp_cache_attr *a = &c->attr;
	uint64_t bytes = c->stats.bytes + c->leaving_bytes - but->bytes;
	uint64_t entries = c->stats.entries + c->leaving.count - but->count;

	return (a->max_bytes && bytes > a->max_bytes) || (a->max_entries && entries > a->max_entries);
}

static bool exceeded(const struct pp_cache *c)
{
	const struct pp_doomed none = PP_NONE_DOOMED;

	return pp_room_exceeded(c, &none);
}

/* Waits until the unpins in progress have ended or, with @budget, until the entries fit. */
static void await_leaving(struct pp_cache *c, bool budget)
{
	struct pp_waiter w = { .number = c->doom, .budget = budget };

	if (!leaves(c, w.number) || (budget && !exceeded(c)))
		return;
	pp_waiters_add_for_room(&c->waiters, &w);
	pp_cache_sleep(c, &w);
}

/* The first waiter waits for the fewest unpins. */
void pp_room_changed(struct pp_cache *c)
{
	struct pp_waiter **at = &c->waiters.for_room;
	bool over = exceeded(c);

	while (*at) {
		if (!leaves(c, (*at)->number) || ((*at)->budget && !over))
			pp_waiters_end(&c->waiters, at);
		else if (over)
			return;
		else
			at = &(*at)->next;
	}
}

void pp_room_await_budget(struct pp_cache *c)
{
	pthread_mutex_lock(&c->lock);
	await_leaving(c, true);
	pp_cache_unlock(c, NULL);
}

/* ---- making room ------------------------------------------------------------- */

void pp_room_attempt(struct pp_cache *c, struct pp_search *s)
{
	pthread_mutex_lock(&c->lock);
	s->unpins = c->stats.unpins;
	pp_cache_unlock(c, NULL);
}

static void begin(struct pp_cache *c, struct pp_search *s)
{
	if (s->searching)
		return;
	s->searching = true;
	s->began = pp_cache_now(c);
	pp_cache_tick(c);
}

static bool search(struct pp_cache *c, struct pp_search *s, struct pp_doomed *doomed)
{
	if (s->last)
		return false;
	begin(c, s);
	if (pp_cache_evict(c, s->began, doomed))
		return true;
	s->last = true;
	await_leaving(c, false);
	return c->stats.unpins != s->unpins;
}

bool pp_room_make(struct pp_cache *c, struct pp_search *s)
{
	struct pp_doomed doomed = PP_NONE_DOOMED;
	bool room;

	pthread_mutex_lock(&c->lock);
	room = search(c, s, &doomed);
	pp_cache_unlock(c, &doomed);
	return room;
}

/* ---- refusals ----------------------------------------------------------------- */

/*
 * May the refused pin be tried again? In an empty cache a retry evicts nothing.
 * After @until misses other processes may have made room. With fewer bytes in use,
 * more can be evicted than at the refusal.
 */
static bool may_try_again(struct pp_cache *c)
{
	return !c->stats.entries || c->stats.misses >= c->refusal.until ||
	       pp_cache_bytes_in_use(c) < c->refusal.beside;
}

/* Counts the bytes in use only if the result depends on them, as that is slow. */
static bool within_budget(struct pp_cache *c, uint64_t length)
{
	uint64_t max = c->attr.max_bytes, in_use;

	if (!max || (c->stats.bytes <= max && length <= max - c->stats.bytes))
		return true;
	in_use = pp_cache_bytes_in_use(c);
	return in_use < max && length <= max - in_use;
}

bool pp_room_affords(struct pp_cache *c, const struct pp_range *range, bool whole)
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

void pp_room_refused(struct pp_cache *c, uint64_t length)
{
	struct pp_refusal *r = &c->refusal;

	r->length = min(r->length, length);
	r->beside = pp_cache_bytes_in_use(c) - length;
	r->until = c->stats.misses + r->patience;
	r->patience = min(2 * r->patience, MAX_PATIENCE);
}

void pp_room_granted(struct pp_cache *c, uint64_t length)
{
	if (length >= c->refusal.length)
		pp_room_reset(c);
}

void pp_room_reset(struct pp_cache *c)
{
	c->refusal = (struct pp_refusal) {
		.length = UINT64_MAX,
		.patience = FIRST_PATIENCE,
	};
}
