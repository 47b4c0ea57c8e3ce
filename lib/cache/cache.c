// SPDX-License-Identifier: MIT
#include "cache.h"
#include "done.h"
#include "overlaps.h"
#include "room.h"

void pp_cache_count(struct pp_cache *c, const struct pp_entry *e)
{
	c->stats.entries++;
	c->stats.bytes += e->pub.length;
}

void pp_cache_discount(struct pp_cache *c, const struct pp_entry *e)
{
	c->stats.entries--;
	c->stats.bytes -= e->pub.length;
}

/* ---- leaving ---------------------------------------------------------------------- */

/* Adds an EVICTED or DEAD entry to @doomed. */
static void doom(struct pp_cache *c, struct pp_entry *e, struct pp_doomed *doomed)
{
	pp_cache_discount(c, e);
	e->queued = ++c->doom;
	pp_list_append(&c->leaving, &c->pool, e);
	e->link = doomed->first;
	doomed->first = pp_entry_index(&c->pool, e);
	doomed->count++;
}

/* The entry is in neither the index nor an LRU list, so the list @gone can use its @prev and @next. */
void pp_cache_set_gone(struct pp_cache *c, struct pp_entry *e)
{
	/* exchange, not store: a reader may make a COLD entry LIVE at the same time */
	atomic_exchange(&e->state, PP_GONE);
	pp_list_append(&c->gone, &c->pool, e);
}

void pp_cache_doom_unused(struct pp_cache *c, struct pp_entry *e, struct pp_doomed *doomed)
{
	if (pp_users(&c->readers, &c->pool, e))
		return;
	pp_list_remove(&c->gone, &c->pool, e);
	pp_entry_set_state(e, PP_DEAD);
	doom(c, e, doomed);
}

static void trim_all(struct pp_cache *c, struct pp_doomed *doomed);

static void doom_all_unused(struct pp_cache *c, struct pp_doomed *doomed)
{
	uint32_t i, next = c->gone.first;

	if (!c->gone.count)
		return;
	pp_readers_count(&c->readers, &c->pool);
	for (i = c->gone.count; i; i--) {
		struct pp_entry *e = pp_entry_at(&c->pool, next);

		next = e->next;
		pp_cache_doom_unused(c, e, doomed);
	}
}

static __attribute__((noinline)) void tell(struct pp_cache *c)
{
	pp_publish_stats(c->published, &c->told, &c->stats);
	c->told = c->stats;
}

void pp_cache_sweep(struct pp_cache *c, struct pp_doomed *doomed)
{
	/*
	 * acquire: pairs with pp_cache_leave_work(). The counts that this sweep adds up include the put that
	 * left the work.
	 */
	if (!atomic_exchange_explicit(&c->left, false, memory_order_acquire))
		return;
	pp_done_all(c);
	doom_all_unused(c, doomed);
	trim_all(c, doomed);
}

void pp_cache_lock(struct pp_cache *c)
{
	pthread_mutex_lock(&c->lock);
	if (atomic_load_explicit(&c->done, memory_order_relaxed) != PP_NO_ENTRY)
		pp_done_all(c);
}

/* The threads wake after the unlock, because the first thing that each does is to lock. */
static void release(struct pp_cache *c)
{
	struct pp_waiter *woken = c->waiters.woken;

	if (c->published)
		tell(c);
	if (!woken) {
		pthread_mutex_unlock(&c->lock);
		return;
	}
	c->waiters.woken = NULL;
	pthread_mutex_unlock(&c->lock);
	pp_waiters_wake(woken);
}

static __attribute__((noinline)) void sweep_left(struct pp_cache *c, struct pp_doomed *doomed)
{
	while (atomic_load(&c->left) && !pthread_mutex_trylock(&c->lock)) {
		pp_cache_sweep(c, doomed);
		release(c);
	}
}

static void unlock(struct pp_cache *c, struct pp_doomed *doomed)
{
	release(c);
	/* seq_cst: pp_cache_leave_work() sets @left before it tries the lock; it gets the lock, or we see @left */
	if (__builtin_expect(atomic_load(&c->left), 0))
		sweep_left(c, doomed);
}

void pp_cache_leave_work(struct pp_cache *c)
{
	struct pp_doomed doomed = PP_NONE_DOOMED;

	atomic_store(&c->left, true);
	if (pthread_mutex_trylock(&c->lock))
		return;
	pp_cache_sweep(c, &doomed);
	pp_cache_unlock(c, &doomed);
}

/*
 * Removes the entry from the index. Returns true if the entry is GONE now; false if its pin
 * callback still runs, so that the PENDING entry is ORPHAN now.
 */
static bool hide(struct pp_cache *c, struct pp_entry *e)
{
	bool pending = pp_entry_state(e) == PP_PENDING;

	pp_index_remove(&c->index, &c->pool, e);
	if (pending) {
		pp_entry_set_state(e, PP_ORPHAN);
		pp_cache_changed(c, e);
		return false;
	}
	pp_lru_remove(&c->lru, &c->pool, e);
	pp_cache_set_gone(c, e);
	return true;
}

void pp_cache_forget(struct pp_cache *c, struct pp_entry *e, struct pp_doomed *doomed)
{
	if (!hide(c, e))
		return;
	pp_fence_heavy(&c->readers);
	pp_readers_count(&c->readers, &c->pool);
	pp_cache_doom_unused(c, e, doomed);
}

/* Hides all entries of a range, for one fence after all of them. @link chains the hidden entries. */
static uint32_t hide_range(struct pp_cache *c, const struct pp_range *range, const struct pp_entry *but)
{
	uint32_t first = PP_NO_ENTRY;
	struct pp_overlaps o;
	struct pp_entry *e;

	pp_overlaps_begin(&o, &c->index, &c->pool, range);
	while ((e = pp_overlaps_next(&o))) {
		if (e == but || pp_entry_state(e) == PP_EVICTED || !hide(c, e))
			continue;
		e->link = first;
		first = pp_entry_index(&c->pool, e);
	}
	return first;
}

void pp_cache_forget_range(struct pp_cache *c, const struct pp_range *range, const struct pp_entry *but,
			   struct pp_doomed *doomed)
{
	uint32_t at = hide_range(c, range, but);

	if (at == PP_NO_ENTRY)
		return;
	pp_fence_heavy(&c->readers);
	pp_readers_count(&c->readers, &c->pool);
	while (at != PP_NO_ENTRY) {
		struct pp_entry *e = pp_entry_at(&c->pool, at);

		at = e->link;
		pp_cache_doom_unused(c, e, doomed);
	}
}

bool pp_cache_evict(struct pp_cache *c, uint32_t than, struct pp_doomed *doomed)
{
	struct pp_entry *e = pp_lru_take(&c->lru, &c->pool, &c->readers, pp_cache_now(c), than);

	if (!e)
		return false;
	doom(c, e, doomed);
	c->stats.evictions++;
	return true;
}

void pp_cache_evict_all(struct pp_cache *c, struct pp_doomed *doomed)
{
	uint32_t now = pp_cache_now(c);
	struct pp_entry *e;

	while ((e = pp_lru_take(&c->lru, &c->pool, &c->readers, now, now))) {
		pp_index_remove(&c->index, &c->pool, e);
		pp_entry_set_state(e, PP_DEAD);
		doom(c, e, doomed);
	}
}

static bool over_budget(const struct pp_cache *c)
{
	const struct pp_cache_attr *a = &c->attr;

	return (a->max_bytes && c->stats.bytes > a->max_bytes) ||
	       (a->max_entries && c->stats.entries > a->max_entries);
}

static bool evict_all_over(struct pp_cache *c, struct pp_doomed *doomed)
{
	while (over_budget(c))
		if (!pp_cache_evict(c, pp_cache_now(c), doomed))
			return true;
	return false;
}

/*
 * Only entries in use can keep the cache over its budget. A put after the store to @over
 * sees @over. For earlier puts the fence makes the lower counts visible, and the second
 * eviction finds these entries.
 */
static void trim_all(struct pp_cache *c, struct pp_doomed *doomed)
{
	bool over = evict_all_over(c, doomed);

	if (over && !atomic_exchange(&c->over, true)) {
		pp_fence_heavy(&c->readers);
		over = evict_all_over(c, doomed);
	}
	if (!over && atomic_load_explicit(&c->over, memory_order_relaxed)) {
		/* relaxed: a put that still sees true only calls pp_cache_tidy() in vain */
		atomic_store_explicit(&c->over, false, memory_order_relaxed);
	}
	c->none_is_idle = over && !c->readers.fence_is_lost;
}

void pp_cache_trim(struct pp_cache *c, struct pp_doomed *doomed)
{
	if (!c->none_is_idle || !over_budget(c))
		trim_all(c, doomed);
}

/*
 * @e has been put. Meanwhile another thread may have unpinned the entry and reused it for another registration. In either
 * case: unpins a GONE entry without users; evicts an idle entry while entries in use exceed the budget.
 */
static void tidy_entry(struct pp_cache *c, struct pp_entry *e, struct pp_doomed *doomed)
{
	if (pp_entry_state(e) == PP_GONE) {
		pp_readers_count(&c->readers, &c->pool);
		pp_cache_doom_unused(c, e, doomed);
	} else if (!c->none_is_idle || !over_budget(c)) {
		trim_all(c, doomed);
	} else if (pp_entry_is_listed(e)) {
		if (pp_lru_take_this(&c->lru, &c->pool, &c->readers, e)) {
			doom(c, e, doomed);
			c->stats.evictions++;
		}
		c->none_is_idle = !c->readers.fence_is_lost;
	}
}

void pp_cache_tidy(struct pp_cache *c, struct pp_entry *e)
{
	struct pp_doomed doomed = PP_NONE_DOOMED;

	if (pthread_mutex_trylock(&c->lock)) {
		pp_cache_leave_work(c);
		return;
	}
	pp_done_all(c);
	tidy_entry(c, e, &doomed);
	pp_cache_unlock(c, &doomed);
}

static bool is_in_use(struct pp_cache *c, struct pp_entry *e)
{
	switch (pp_entry_state(e)) {
	case PP_PENDING:
	case PP_ORPHAN:
	case PP_GONE:
		return true;
	case PP_LIVE:
		return pp_users(&c->readers, &c->pool, e) > 0;
	default:
		return false;
	}
}

uint64_t pp_cache_bytes_in_use(struct pp_cache *c)
{
	uint64_t bytes = 0;
	uint32_t i;

	pp_readers_count(&c->readers, &c->pool);
	for (i = PP_FIRST_ENTRY; i < c->pool.ever; i++) {
		struct pp_entry *e = pp_entry_at(&c->pool, i);

		if (is_in_use(c, e))
			bytes += e->pub.length;
	}
	return bytes;
}

__thread unsigned int pp_cache_callbacks __attribute__((tls_model("initial-exec")));

/* ---- the end ------------------------------------------------------------------------ */

/* What the sweep dooms joins @doomed, because a call of pp_cache_leave_work() here would recurse. */
static void unpin_one(struct pp_cache *c, struct pp_entry *e, struct pp_doomed *doomed)
{
	pp_cache_callbacks++;
	c->ops.unpin(c->arg, e->pub.reg);
	pp_cache_callbacks--;
	if (pp_done_unpin(c, e)) {
		atomic_store(&c->left, true);
		sweep_left(c, doomed);
	}
}

static void unpin_all(struct pp_cache *c, struct pp_doomed *doomed)
{
	while (doomed->first != PP_NO_ENTRY) {
		struct pp_entry *e = pp_entry_at(&c->pool, doomed->first);

		doomed->first = e->link;
		doomed->count--;
		unpin_one(c, e, doomed);
	}
}

void pp_cache_unlock(struct pp_cache *c, struct pp_doomed *doomed)
{
	struct pp_doomed none = PP_NONE_DOOMED;

	doomed = doomed ? doomed : &none;
	unlock(c, doomed);
	unpin_all(c, doomed);
}

/* ---- waiting ------------------------------------------------------------------------ */

void pp_cache_changed(struct pp_cache *c, struct pp_entry *e)
{
	if (__builtin_expect(atomic_load_explicit(&c->waiters.count, memory_order_relaxed), 0))
		pp_waiters_end_of_entry(&c->waiters, pp_entry_index(&c->pool, e));
}

void pp_cache_sleep(struct pp_cache *c, struct pp_waiter *w)
{
	pp_done_all(c);	/* after the count of waiters: see pp_done_unpin() */
	pp_cache_unlock(c, NULL);
	pp_waiter_sleep(w);
	pp_cache_lock(c);
}

void pp_cache_wait(struct pp_cache *c, struct pp_entry *e)
{
	struct pp_waiter w = { .number = pp_entry_index(&c->pool, e) };

	pp_waiters_add_of_entry(&c->waiters, &w);
	pp_cache_sleep(c, &w);
}

/* An entry that overlaps a range, was among the first @by doomed entries, and is not unpinned yet; or NULL */
static struct pp_entry *leaving(const struct pp_cache *c, const struct pp_range *range, uint32_t by)
{
	uint32_t i, next = c->leaving.first;

	for (i = c->leaving.count; i; i--) {
		struct pp_entry *e = pp_entry_at(&c->pool, next);
		struct pp_range r = pp_entry_range(e);

		if ((int32_t)(e->queued - by) <= 0 && pp_range_overlaps(&r, range))
			return e;
		next = e->next;
	}
	return NULL;
}

void pp_cache_await_unpins(struct pp_cache *c, const struct pp_range *range, uint32_t by)
{
	struct pp_entry *e;

	if (pp_cache_callbacks)
		return;
	pp_cache_lock(c);
	while ((e = leaving(c, range, by)))
		pp_cache_wait(c, e);
	pp_cache_unlock(c, NULL);
}
