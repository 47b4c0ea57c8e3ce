// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include "miss.h"
#include "room.h"
#include "sys.h"

/**
 * struct want - a miss
 * @asked: what the caller wants
 * @least: what to register when @range cannot be
 * @range: what to register
 * @whole: grown to a whole allocation: nothing beyond it may be added
 */
struct want {
	struct pp_range asked;
	struct pp_range least;
	struct pp_range range;
	bool whole;
};

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
static struct pp_range merged(const struct pp_cache *c,
			      const struct pp_range *range)
{
	struct pp_range *r = pp_index_first(&c->index, range);
	struct pp_range all = *range;

	for (; r; r = pp_index_next(&c->index, r, range)) {
		all.start = r->start < all.start ? r->start : all.start;
		all.end = r->end > all.end ? r->end : all.end;
	}
	return all;
}

static struct pp_entry *first_pending(const struct pp_cache *c,
				      const struct pp_range *range)
{
	struct pp_range *r = pp_index_first(&c->index, range);

	while (r && !pp_entry_of(r)->pending)
		r = pp_index_next(&c->index, r, range);
	return pp_entry_of(r);
}

static struct pp_range clipped(struct pp_range range,
			       const struct pp_range *to)
{
	range.start = range.start > to->start ? range.start : to->start;
	range.end = range.end < to->end ? range.end : to->end;
	return range;
}

/*
 * A whole allocation, or what there is around the range. Where the allocation
 * is too much, neighbouring pieces of it still grow together; what lies
 * outside belongs to something older.
 */
static void widen(const struct pp_cache *c, struct want *w)
{
	struct pp_range wide = w->whole ? w->range : merged(c, &w->range);

	if (w->whole && !pp_room_affords(c, &wide, w->whole))
		wide = clipped(merged(c, &w->asked), &w->range);
	w->range = pp_room_affords(c, &wide, w->whole) ? wide : w->least;
}

/*
 * Put a pending entry into the index, in place of what overlaps it. Returns 1
 * when another thread is, or was, about the same range: look it up again.
 */
static int claim(struct pp_cache *c, struct want *w, struct pp_entry *e,
		 struct pp_entries *doomed)
{
	struct pp_range *r = pp_index_first(&c->index, &w->asked);
	int ret;

	if (r && pp_range_covers(r, &w->asked))
		return 1;
	if (first_pending(c, &w->range)) {
		pthread_cond_wait(&c->changed, &c->lock);
		return 1;
	}
	widen(c, w);
	pp_entries_detach(c, &w->range, doomed);
	e->range = w->range;
	ret = pp_index_insert(&c->index, &e->range);
	if (ret)
		return ret;
	e->indexed = true;
	pp_entry_count(c, e);
	c->stats.misses++;
	pp_entries_trim(c, doomed);
	return 0;
}

static struct pp_entry *new_pending(void)
{
	struct pp_entry *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->users = 1;
	e->pending = true;
	return e;
}

static bool is_shortage(int ret)
{
	return ret == -ENOMEM || ret == -ENOSPC || ret == -EDQUOT;
}

static int pin_once(struct pp_cache *c, struct pp_entry *e,
		    struct pp_cache_work *work, struct pp_why *why)
{
	uint64_t start = pp_now_ns();
	uint64_t took;
	int ret;

	*why = (struct pp_why){ 0 };
	ret = c->ops.pin(c->arg, e->range.start, pp_range_length(&e->range),
			 &e->pub.reg, why);
	took = pp_now_ns() - start;
	work->pin_ns += took;
	work->pins += !ret;
	pthread_mutex_lock(&c->lock);
	c->stats.pin_ns += took;
	c->stats.pins += !ret;
	pthread_mutex_unlock(&c->lock);
	return ret;
}

static int pin_evicting(struct pp_cache *c, struct pp_entry *e,
			struct pp_cache_work *work, struct pp_why *why)
{
	struct pp_search search = { 0 };
	int ret;

	do {
		pp_room_attempt(c, &search);
		ret = pin_once(c, e, work, why);
	} while (is_shortage(ret) && pp_room_make(c, &search));
	return ret;
}

/* The range was widened in vain: give up all but @least of it. */
static void narrow(struct pp_cache *c, struct pp_entry *e, const struct want *w,
		   int why_not)
{
	pthread_mutex_lock(&c->lock);
	if (w->whole && is_shortage(why_not))
		pp_room_refused(c, &e->range);
	pp_entry_discount(c, e);
	e->range = w->least;
	pp_entry_count(c, e);
	pthread_cond_broadcast(&c->changed);
	pthread_mutex_unlock(&c->lock);
}

static int pin(struct pp_cache *c, struct pp_entry *e, const struct want *w,
	       struct pp_cache_work *work, struct pp_why *why)
{
	int ret;

	pp_room_await_budget(c);
	ret = pin_evicting(c, e, work, why);
	if (!ret || ret == -EINTR || pp_range_covers(&w->least, &w->range))
		return ret;
	narrow(c, e, w, ret);
	return pin_evicting(c, e, work, why);
}

static void settle(struct pp_cache *c, struct pp_entry *e, const struct want *w)
{
	pthread_mutex_lock(&c->lock);
	if (w->whole)
		pp_room_granted(c, &e->range);
	e->pub.addr = e->range.start;
	e->pub.length = pp_range_length(&e->range);
	e->pending = false;
	pthread_cond_broadcast(&c->changed);
	pthread_mutex_unlock(&c->lock);
}

static void give_up(struct pp_cache *c, struct pp_entry *e)
{
	pthread_mutex_lock(&c->lock);
	if (e->indexed)
		pp_index_remove(&c->index, &e->range);
	pp_entry_discount(c, e);
	pthread_cond_broadcast(&c->changed);
	pthread_mutex_unlock(&c->lock);
	free(e);
}

static int register_new(struct pp_cache *c, struct want *w,
			struct pp_entry *e, struct pp_cache_work *work,
			struct pp_why *why)
{
	struct pp_entries doomed = TAILQ_HEAD_INITIALIZER(doomed);
	int ret;

	pthread_mutex_lock(&c->lock);
	ret = claim(c, w, e, &doomed);
	pthread_mutex_unlock(&c->lock);
	pp_entries_unpin(c, &doomed);
	if (ret) {
		free(e);
		return ret;
	}
	ret = pin(c, e, w, work, why);
	if (ret)
		give_up(c, e);
	else
		settle(c, e, w);
	return ret;
}

int pp_miss(struct pp_cache *c, const struct pp_range *asked,
	    struct pp_entry **out, struct pp_cache_work *work,
	    struct pp_why *why)
{
	struct want w = { .asked = *asked };
	int ret = grow(c, &w);

	if (ret)
		return ret;
	*out = new_pending();
	if (!*out)
		return -ENOMEM;
	return register_new(c, &w, *out, work, why);
}
