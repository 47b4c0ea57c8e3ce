// SPDX-License-Identifier: MIT
#include <errno.h>
#include "done.h"
#include "miss.h"
#include "overlaps.h"
#include "room.h"
#include "lib/sys/sys.h"

/**
 * struct want - the registration that a miss makes
 * @asked: range that the caller wants
 * @least: range to register if @range cannot be registered
 * @range: range to register
 * @whole: @range was grown to a whole allocation: it must not grow further
 * @alone: no entry overlaps @range, so the new entry replaces none. This stays true until the end of the pin: another
 *	miss whose range overlaps @range finds the pending entry of this miss and waits. A miss widens its range only by
 *	entries that overlap the range, so a range that does not overlap @range does not grow over it
 * @search: search for room
 * @timed: read the clock before and after the pin
 * @counts: number of pins that the time of this pin stands for in the statistics; 0: not timed for them
 */
struct want {
	struct pp_range asked;
	struct pp_range least;
	struct pp_range range;
	bool whole;
	bool alone;
	struct pp_search search;
	bool timed;
	unsigned int counts;
};

/* Two readings of the clock take about 50 ns. So a short pin is timed one time in SHORT_PINS. */
enum { SHORT_PINS = 16 };

static int grow(struct pp_cache *c, struct want *w)
{
	uint64_t addr = w->asked.start;
	uint64_t length = pp_range_length(&w->asked);
	int ret = c->ops.grow ? c->ops.grow(c->arg, &addr, &length) : 0;

	if (ret < 0)
		return ret;
	w->range = (struct pp_range){ addr, addr + length };
	if (!pp_range_covers(&w->range, &w->asked))
		return -EINVAL;
	w->whole = ret;
	w->least = w->whole ? w->asked : w->range;
	return 0;
}

/* The union of a range and all entries that overlap it. @lock is held. */
static struct pp_range merged(struct pp_cache *c, const struct pp_range *range)
{
	struct pp_range all = *range;
	struct pp_overlaps o;
	struct pp_entry *e;

	pp_overlaps_begin(&o, &c->index, &c->pool, range);
	while ((e = pp_overlaps_next(&o))) {
		struct pp_range r = pp_entry_range(e);

		all.start = r.start < all.start ? r.start : all.start;
		all.end = r.end > all.end ? r.end : all.end;
	}
	return all;
}

/**
 * struct found - entries that overlap a range
 * @any: there are entries that are not EVICTED
 * @covers: one of them covers all of @asked
 * @pending: a PENDING entry, or NULL
 * @evicted: an EVICTED entry, or NULL
 */
struct found {
	bool any;
	bool covers;
	struct pp_entry *pending;
	struct pp_entry *evicted;
};

/* @asked lies within @range. */
static struct found look_around(struct pp_cache *c, const struct pp_range *range, const struct pp_range *asked)
{
	struct found found = { 0 };
	struct pp_overlaps o;
	struct pp_entry *e;

	if (pp_overlaps_none(&c->index, range))
		return found;
	pp_overlaps_begin(&o, &c->index, &c->pool, range);
	while ((e = pp_overlaps_next(&o))) {
		struct pp_range r = pp_entry_range(e);
		uint32_t state = pp_entry_state(e);

		if (state == PP_EVICTED) {
			found.evicted = e;
			continue;
		}
		found.any = true;
		found.covers |= pp_range_covers(&r, asked);
		if (state == PP_PENDING)
			found.pending = e;
	}
	return found;
}

bool pp_miss_wait(struct pp_cache *c, const struct pp_range *range)
{
	struct pp_entry *pending;

	if (!(c->ops.grow || c->ops.valid) || !atomic_load_explicit(&c->pending, memory_order_relaxed))
		return false;
	pp_cache_lock(c);
	pending = look_around(c, range, range).pending;
	if (pending)
		pp_cache_wait(c, pending);
	pp_cache_unlock(c, NULL);
	return pending;
}

static struct pp_range clipped(struct pp_range range,
			       const struct pp_range *to)
{
	range.start = range.start > to->start ? range.start : to->start;
	range.end = range.end < to->end ? range.end : to->end;
	return range;
}

/*
 * Widen to the whole allocation, or to the union with the entries that overlap. If
 * the whole allocation is too large, take the union with the entries that overlap
 * @asked, clipped to the allocation. An entry that reaches beyond the allocation is
 * of an older allocation.
 */
static void widen(struct pp_cache *c, struct want *w)
{
	struct pp_range wide = w->whole ? w->range : merged(c, &w->range);

	if (pp_range_covers(&w->least, &wide))
		return;
	if (w->whole && !pp_room_affords(c, &wide, w->whole))
		wide = clipped(merged(c, &w->asked), &w->range);
	w->range = pp_room_affords(c, &wide, w->whole) ? wide : w->least;
}

/*
 * The replaced entries stay and hit until the new entry is pinned, if there is
 * room for both. Else forgets them now.
 */
static void make_way(struct pp_cache *c, const struct want *w, struct pp_doomed *doomed)
{
	uint64_t max = c->attr.max_bytes, length = pp_range_length(&w->range);
	bool bytes = max && (length > max || c->stats.bytes > max - length);
	bool entries = c->attr.max_entries && c->stats.entries >= c->attr.max_entries;

	if (bytes || entries)
		pp_cache_forget_range(c, &w->range, NULL, doomed);
}

/* While @lock is still held: reads the state that the pin needs later. */
static void prepare(struct pp_cache *c, struct want *w)
{
	w->search.unpins = c->stats.unpins;
	if (!c->pins_are_short)
		w->counts = 1;
	else if (!(c->stats.misses % SHORT_PINS))
		w->counts = SHORT_PINS;
	w->timed |= w->counts;
}

static int claim_range(struct pp_cache *c, struct want *w, struct pp_entry *e, struct pp_doomed *doomed)
{
	int ret;

	pp_cache_tick(c);
	if (!w->alone || w->whole)
		widen(c, w);
	if (!w->alone)
		make_way(c, w, doomed);
	pp_entry_set_range(e, &w->range);
	ret = pp_index_insert(&c->index, &c->pool, e);
	if (ret)
		return ret;
	pp_entry_set_state(e, PP_PENDING);
	/* after PENDING: a free that begins now finds the entry, and is_going() reports earlier frees */
	if (c->is_going && c->is_going(e->pub.addr, e->pub.length))
		pp_cache_forget(c, e, doomed);
	pp_cache_count(c, e);
	pp_cache_count_pending(c, 1);
	c->stats.misses++;
	pp_cache_trim(c, doomed);
	prepare(c, w);
	return 0;
}

/*
 * Put a pending entry into the index. Returns 1 if another thread registers, has registered,
 * or unpins the same range: look the range up again. A callback does not wait for an unpin,
 * which may be its own.
 */
static int claim(struct pp_cache *c, struct want *w, struct pp_entry **e, struct pp_doomed *doomed)
{
	struct found found = look_around(c, &w->range, &w->asked);
	int ret;

	if (found.pending) {
		pp_cache_wait(c, found.pending);
		return 1;
	}
	if (found.covers)
		return 1;
	if (found.evicted && !pp_cache_callbacks) {
		pp_cache_wait(c, found.evicted);
		return 1;
	}
	w->alone = !found.any;
	*e = pp_pool_take(&c->pool);
	if (!*e)
		return -ENOMEM;
	ret = claim_range(c, w, *e, doomed);
	if (ret)
		pp_pool_give(&c->pool, *e);
	return ret;
}

static int claim_once(struct pp_cache *c, struct want *w, struct pp_entry **e)
{
	struct pp_doomed doomed = PP_NONE_DOOMED;
	int ret;

	pp_cache_lock(c);
	ret = claim(c, w, e, &doomed);
	pp_cache_unlock(c, &doomed);
	return ret;
}

/* Without memory for an entry or for the index, evicts an idle entry and tries once more. */
static int claim_with_room(struct pp_cache *c, struct want *w, struct pp_entry **e)
{
	struct pp_search search = { 0 };
	int ret = claim_once(c, w, e);

	if (ret == -ENOMEM && pp_room_make(c, &search))
		ret = claim_once(c, w, e);
	return ret;
}

static bool lacks_room(int ret)
{
	return ret == -ENOMEM || ret == -ENOSPC || ret == -EDQUOT;
}

/* Would eviction help? */
static bool is_shortage(const struct pp_cache *c, int ret)
{
	return lacks_room(ret) || (ret == -EMFILE && !c->no_files);
}

static int pin_once(struct pp_cache *c, struct pp_entry *e, bool timed, struct pp_cache_work *work, struct pp_why *why)
{
	uint64_t start = timed ? pp_now_ns() : 0;
	int ret;

	*why = (struct pp_why){ 0 };
	pp_cache_callbacks++;
	ret = c->ops.pin(c->arg, e->pub.addr, e->pub.length, &e->pub.reg, why);
	pp_cache_callbacks--;
	work->pin_ns += timed ? pp_now_ns() - start : 0;
	work->pins += !ret;
	return ret;
}

/* Forgets all entries that @e replaces, before its pin. */
static bool replace_early(struct pp_cache *c, struct pp_entry *e)
{
	struct pp_doomed doomed = PP_NONE_DOOMED;
	struct pp_range range = pp_entry_range(e);
	bool any;

	pp_cache_lock(c);
	pp_cache_forget_range(c, &range, e, &doomed);
	any = doomed.first != PP_NO_ENTRY;
	pp_cache_unlock(c, &doomed);
	return any;
}

static bool make_room(struct pp_cache *c, struct pp_entry *e, struct pp_search *search)
{
	return (!search->searching && replace_early(c, e)) || pp_room_make(c, search);
}

static int pin_evicting(struct pp_cache *c, struct pp_entry *e, const struct want *w,
			struct pp_cache_work *work, struct pp_why *why)
{
	struct pp_search search = w->search;
	int ret;

	while (is_shortage(c, ret = pin_once(c, e, w->timed, work, why)) && make_room(c, e, &search))
		pp_room_attempt(c, &search);
	return ret;
}

static int reindex(struct pp_cache *c, struct pp_entry *e, const struct pp_range *range)
{
	int ret;

	pp_index_remove(&c->index, &c->pool, e);
	pp_entry_set_state(e, PP_ORPHAN);
	pp_entry_set_range(e, range);
	ret = pp_index_insert(&c->index, &c->pool, e);
	if (!ret)
		pp_entry_set_state(e, PP_PENDING);
	return ret;
}

/* The pin of the widened range failed: shrink the entry to @least. */
static int narrow(struct pp_cache *c, struct pp_entry *e, const struct want *w,
		  int why_not)
{
	int ret = 0;

	pp_cache_lock(c);
	if (w->whole && lacks_room(why_not))
		pp_room_refused(c, e->pub.length);
	pp_cache_discount(c, e);
	pp_room_narrowed(c, e->pub.length - pp_range_length(&w->least));
	if (pp_entry_is_indexed(e))
		ret = reindex(c, e, &w->least);
	else
		pp_entry_set_range(e, &w->least);
	pp_cache_count(c, e);
	pp_cache_changed(c, e);
	pp_cache_unlock(c, NULL);
	return ret;
}

static int pin(struct pp_cache *c, struct pp_entry *e, const struct want *w,
	       struct pp_cache_work *work, struct pp_why *why)
{
	int ret;

	pp_room_enter(c, e->pub.length);
	ret = pin_evicting(c, e, w, work, why);
	if (!ret || ret == -EINTR || pp_range_covers(&w->least, &w->range))
		return ret;
	if (narrow(c, e, w, ret))
		return ret;
	return pin_evicting(c, e, w, work, why);
}

/* The pinned entry replaces no entry, and the time of its pin fits into struct pp_pinned. */
static bool is_plain(const struct want *w, const struct pp_cache_work *work)
{
	return w->alone && work->pin_ns <= UINT32_MAX;
}

/* As pp_done_pin(), but waits for the lock, and forgets the entries that the new entry replaces. */
static void replace(struct pp_cache *c, struct pp_entry *e, const struct want *w, const struct pp_cache_work *work)
{
	struct pp_doomed doomed = PP_NONE_DOOMED;
	struct pp_range range = pp_entry_range(e);

	pp_cache_lock(c);
	if (w->whole)
		pp_room_granted(c, e->pub.length);
	if (pp_entry_state(e) == PP_PENDING)
		pp_cache_forget_range(c, &range, e, &doomed);
	pp_done_count(c, work->pins, work->pin_ns, w->counts);
	pp_done_enter(c, e);
	pp_done_pending(c, e);
	pp_cache_unlock(c, &doomed);
}

/* The caller of get becomes the first user. */
static void settle(struct pp_cache *c, struct pp_entry *e, const struct want *w, const struct pp_cache_work *work)
{
	if (c->ops.word)
		e->word = c->ops.word(c->arg, e->pub.reg, &e->value);
	pp_ref_get(pp_reader_here(&c->readers), e, pp_entry_index(&c->pool, e));
	if (is_plain(w, work))
		pp_done_pin(c, e, (struct pp_pinned){ work->pin_ns, w->counts, w->whole });
	else
		replace(c, e, w, work);
}

static void give_up(struct pp_cache *c, struct pp_entry *e, const struct want *w, const struct pp_cache_work *work)
{
	pp_cache_lock(c);
	if (pp_entry_is_indexed(e))
		pp_index_remove(&c->index, &c->pool, e);
	pp_cache_discount(c, e);
	pp_done_count(c, work->pins, work->pin_ns, w->counts);
	pp_done_pending(c, e);
	pp_room_leave(c, e->pub.length);
	pp_pool_give(&c->pool, e);
	pp_cache_unlock(c, NULL);
}

static int register_new(struct pp_cache *c, struct want *w, struct pp_entry *e,
			struct pp_cache_work *work, struct pp_why *why)
{
	struct pp_cache_work done = { 0 };
	int ret = pin(c, e, w, &done, why);

	if (ret)
		give_up(c, e, w, &done);
	else
		settle(c, e, w, &done);
	if (work) {
		work->pins += done.pins;
		work->pin_ns += done.pin_ns;
	}
	return ret;
}

int pp_miss(struct pp_cache *c, const struct pp_range *asked,
	    struct pp_entry **out, struct pp_cache_work *work,
	    struct pp_why *why)
{
	struct want w = { .asked = *asked, .timed = work };
	int ret = grow(c, &w);

	if (ret)
		return ret;
	ret = claim_with_room(c, &w, out);
	return ret ? ret : register_new(c, &w, *out, work, why);
}
