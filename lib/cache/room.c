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

static bool has_limits(const struct pp_cache *c)
{
	return c->attr.max_bytes || c->attr.max_entries;
}

/*
 * A count without a limit has no reader and stays 0: threads that miss would contend for it by atomic operations.
 * Release, and acquire in take(): the unpin that gave the room comes before the pin that takes it.
 */
static void give(struct pp_cache *c, unsigned int entries, uint64_t bytes)
{
	if (c->attr.max_entries)
		atomic_fetch_sub_explicit(&c->pinned, entries, memory_order_release);
	if (c->attr.max_bytes)
		atomic_fetch_sub_explicit(&c->pinned_bytes, bytes, memory_order_release);
}

/* Takes the room even if the budget does not have it. Returns true if the budget had the room. */
static bool take(struct pp_cache *c, uint64_t length)
{
	const struct pp_cache_attr *a = &c->attr;
	bool fits = true;

	if (a->max_entries)
		fits &= atomic_fetch_add_explicit(&c->pinned, 1, memory_order_acquire) < a->max_entries;
	if (a->max_bytes)
		fits &= atomic_fetch_add_explicit(&c->pinned_bytes, length, memory_order_acquire) + length <=
			a->max_bytes;
	return fits;
}

/*
 * Before give() another thread may find no room because of this attempt. That thread waits for an unpin in
 * progress, if there is one, and tries again at the end of each unpin.
 */
static bool take_if_free(struct pp_cache *c, uint64_t length)
{
	bool free = take(c, length);

	if (!free)
		give(c, 1, length);
	return free;
}

/* Waits until the unpins in progress have ended or, with @length, until the budget has this room. */
static void await_leaving(struct pp_cache *c, uint64_t length)
{
	struct pp_waiter w = { .number = c->doom, .length = length };

	if (length && take_if_free(c, length))
		return;
	if (leaves(c, w.number)) {
		pp_waiters_add_for_room(&c->waiters, &w);
		pp_cache_sleep(c, &w);
	} else if (length) {
		take(c, length);
	}
}

/* Is the wait over? Then its room is taken. */
static bool is_over(struct pp_cache *c, const struct pp_waiter *w)
{
	if (leaves(c, w->number))
		return w->length && take_if_free(c, w->length);
	if (w->length)
		take(c, w->length);
	return true;
}

/* The first waiter waits for the fewest unpins. */
void pp_room_end_waits(struct pp_cache *c)
{
	struct pp_waiter **at = &c->waiters.for_room;

	while (*at) {
		if (is_over(c, *at))
			pp_waiters_end(&c->waiters, at);
		else if ((*at)->length)
			return;
		else
			at = &(*at)->next;
	}
}

void pp_room_give_back(struct pp_cache *c, uint64_t length)
{
	give(c, 1, length);
}

void pp_room_leave(struct pp_cache *c, uint64_t length)
{
	give(c, 1, length);
	pp_room_end_waits(c);
}

void pp_room_narrowed(struct pp_cache *c, uint64_t bytes)
{
	give(c, 0, bytes);
	pp_room_end_waits(c);
}

void pp_room_enter(struct pp_cache *c, uint64_t length)
{
	if (!has_limits(c) || take_if_free(c, length))
		return;
	pp_cache_lock(c);
	await_leaving(c, length);
	pp_cache_unlock(c, NULL);
}

/* ---- making room ------------------------------------------------------------- */

void pp_room_attempt(struct pp_cache *c, struct pp_search *s)
{
	pp_cache_lock(c);
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
	await_leaving(c, 0);
	return c->stats.unpins != s->unpins;
}

bool pp_room_make(struct pp_cache *c, struct pp_search *s)
{
	struct pp_doomed doomed = PP_NONE_DOOMED;
	bool room;

	pp_cache_lock(c);
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
