// SPDX-License-Identifier: MIT
#include "done.h"
#include "room.h"

/* ---- a pin ------------------------------------------------------------------------ */

static unsigned int histogram_bucket(uint64_t ns)
{
	unsigned int i = ns ? 63 - __builtin_clzll(ns) : 0;

	return i < PP_CACHE_HISTOGRAM ? i : PP_CACHE_HISTOGRAM - 1;
}

void pp_done_count(struct pp_cache *c, uint32_t pins, uint64_t ns, uint32_t counts)
{
	c->stats.pins += pins;
	c->stats.pin_ns += counts * ns;
	if (pins)
		c->stats.pin_histogram[histogram_bucket(ns)] += counts;
	if (counts)
		c->pins_are_short = ns < PP_SHORT_PIN_NS;
}

void pp_done_pending(struct pp_cache *c, struct pp_entry *e)
{
	pp_cache_count_pending(c, -1);
	pp_cache_changed(c, e);
}

void pp_done_enter(struct pp_cache *c, struct pp_entry *e)
{
	if (pp_entry_state(e) == PP_ORPHAN) {
		pp_cache_set_gone(c, e);
		/* a reader that counted in vain finds GONE at its put, or the last put does not see that count */
		pp_fence_heavy(&c->readers);
		return;
	}
	atomic_store_explicit(&e->stamp, pp_cache_now(c), memory_order_relaxed);
	pp_lru_add(&c->lru, &c->pool, e);
	pp_entry_set_state(e, PP_LIVE);
}

/* Until the entry is LIVE or GONE, these fields have no other use. */
static void remember(struct pp_entry *e, struct pp_pinned pinned)
{
	e->prev = pinned.ns;
	e->queued = pinned.counts;
	e->next = pinned.whole;
}

static void finish_pin(struct pp_cache *c, struct pp_entry *e)
{
	pp_done_count(c, 1, e->prev, e->queued);
	if (e->next)
		pp_room_granted(c, e->pub.length);
	pp_done_enter(c, e);
	pp_done_pending(c, e);
}

/* ---- an unpin --------------------------------------------------------------------- */

static void finish_unpin(struct pp_cache *c, struct pp_entry *e, uint32_t state)
{
	c->stats.unpins++;
	if (state == PP_EVICTED)
		pp_index_remove(&c->index, &c->pool, e);
	pp_list_remove(&c->leaving, &c->pool, e);
	pp_cache_changed(c, e);
	pp_room_end_waits(c);
	pp_pool_give(&c->pool, e);
}

/* ---- the stack -------------------------------------------------------------------- */

static void push(struct pp_cache *c, struct pp_entry *e)
{
	e->link = atomic_load_explicit(&c->done, memory_order_relaxed);
	/* acquire: see pp_done_unpin(); release: pairs with pp_done_all() */
	while (!atomic_compare_exchange_weak_explicit(&c->done, &e->link, pp_entry_index(&c->pool, e),
						      memory_order_acq_rel, memory_order_acquire))
		;
}

static void finish(struct pp_cache *c, struct pp_entry *e)
{
	uint32_t state = pp_entry_state(e);

	if (state == PP_EVICTED || state == PP_DEAD)
		finish_unpin(c, e, state);
	else
		finish_pin(c, e);
}

void pp_done_all(struct pp_cache *c)
{
	/* acquire: pairs with push(); release: see pp_done_unpin() */
	uint32_t next = atomic_exchange_explicit(&c->done, PP_NO_ENTRY, memory_order_acq_rel);

	while (next != PP_NO_ENTRY) {
		struct pp_entry *e = pp_entry_at(&c->pool, next);

		next = e->link;
		finish(c, e);
	}
}

/*
 * The first user may put the entry before it becomes LIVE or GONE. Such a put neither unpins the entry nor evicts others
 * to keep the budget. The sweep does both: pp_cache_leave_work() sets @left before the user gets the entry.
 */
void pp_done_pin(struct pp_cache *c, struct pp_entry *e, struct pp_pinned pinned)
{
	remember(e, pinned);
	if (pthread_mutex_trylock(&c->lock)) {
		push(c, e);
		pp_cache_leave_work(c);
		return;
	}
	pp_done_all(c);
	finish_pin(c, e);
	pp_cache_unlock(c, NULL);
}

bool pp_done_unpin(struct pp_cache *c, struct pp_entry *e)
{
	pp_room_give_back(c, e->pub.length);
	push(c, e);
	/* A waiter counts itself, then empties the stack. So it finds @e, or push() read the emptied stack and we see @count. */
	return __builtin_expect(atomic_load_explicit(&c->waiters.count, memory_order_relaxed), 0);
}
