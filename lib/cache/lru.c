// SPDX-License-Identifier: MIT
#include "lru.h"

enum {
	BATCH = 64,	/* maximum number of entries that share a heavy fence */
	SHARE = 4,	/* also, at most 1/SHARE of all entries share a fence */
	STEPS = 64,	/* maximum number of later entries that insert_by_age() passes */
};

/* ---- lists ------------------------------------------------------------------------ */

void pp_list_init(struct pp_list *list)
{
	*list = (struct pp_list){ PP_NO_ENTRY, PP_NO_ENTRY, 0 };
}

void pp_list_append(struct pp_list *list, const struct pp_pool *pool, struct pp_entry *e)
{
	uint32_t index = pp_entry_index(pool, e);

	e->prev = list->last;
	e->next = PP_NO_ENTRY;
	if (list->count++)
		pp_entry_at(pool, list->last)->next = index;
	else
		list->first = index;
	list->last = index;
}

/* @before: in the list */
static void list_insert(struct pp_list *list, const struct pp_pool *pool, struct pp_entry *e, struct pp_entry *before)
{
	uint32_t index = pp_entry_index(pool, e);

	e->prev = before->prev;
	e->next = pp_entry_index(pool, before);
	if (e->prev != PP_NO_ENTRY)
		pp_entry_at(pool, e->prev)->next = index;
	else
		list->first = index;
	before->prev = index;
	list->count++;
}

void pp_list_remove(struct pp_list *list, const struct pp_pool *pool, struct pp_entry *e)
{
	if (e->prev != PP_NO_ENTRY)
		pp_entry_at(pool, e->prev)->next = e->next;
	else
		list->first = e->next;
	if (e->next != PP_NO_ENTRY)
		pp_entry_at(pool, e->next)->prev = e->prev;
	else
		list->last = e->prev;
	list->count--;
}

/* ---- warm and cold ----------------------------------------------------------------- */

static uint32_t stamp(struct pp_entry *e)
{
	return atomic_load_explicit(&e->stamp, memory_order_relaxed);
}

static bool is_after(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) > 0;
}

static bool change(struct pp_entry *e, uint32_t from, uint32_t to)
{
	return atomic_compare_exchange_strong(&e->state, &from, to);
}

void pp_lru_init(struct pp_lru *lru)
{
	pp_list_init(&lru->warm);
	pp_list_init(&lru->cold);
}

void pp_lru_add(struct pp_lru *lru, const struct pp_pool *pool, struct pp_entry *e)
{
	e->queued = stamp(e);
	e->link = 0;
	pp_list_append(&lru->warm, pool, e);
}

/* Would the place of @e be far from the end of the list? The time counts misses, and a miss adds an entry. */
static bool is_far_from_end(const struct pp_list *list, const struct pp_pool *pool, const struct pp_entry *e)
{
	return list->count > STEPS && pp_entry_at(pool, list->last)->queued - e->queued > STEPS;
}

/*
 * Inserts @e behind the entries that were used no later. If that place is far from the end, @e goes to the end: each entry
 * on the way may miss the processor's cache. After STEPS steps the place is approximate.
 */
static void insert_by_age(struct pp_list *list, const struct pp_pool *pool, struct pp_entry *e)
{
	uint32_t at = list->last, before = PP_NO_ENTRY, steps;

	if (is_far_from_end(list, pool, e)) {
		pp_list_append(list, pool, e);
		return;
	}
	for (steps = STEPS; steps && at != PP_NO_ENTRY && is_after(pp_entry_at(pool, at)->queued, e->queued); steps--) {
		before = at;
		at = pp_entry_at(pool, at)->prev;
	}
	if (before == PP_NO_ENTRY)
		pp_list_append(list, pool, e);
	else
		list_insert(list, pool, e, pp_entry_at(pool, before));
}

/* @link, which an entry in a list does not need, tells the lists apart. */
static void move(struct pp_lru *lru, const struct pp_pool *pool, struct pp_entry *e, bool cold)
{
	pp_list_remove(e->link ? &lru->cold : &lru->warm, pool, e);
	e->queued = stamp(e);
	e->link = cold;
	if (cold)
		pp_list_append(&lru->cold, pool, e);
	else
		insert_by_age(&lru->warm, pool, e);
}

void pp_lru_remove(struct pp_lru *lru, const struct pp_pool *pool, struct pp_entry *e)
{
	pp_list_remove(e->link ? &lru->cold : &lru->warm, pool, e);
}

/* True: the entry was not used since it was queued, nor after @than. False: it was, and is queued again. */
static bool is_old(struct pp_lru *lru, const struct pp_pool *pool, struct pp_entry *e, uint32_t than)
{
	if (stamp(e) == e->queued && !is_after(e->queued, than))
		return true;
	move(lru, pool, e, false);
	return false;
}

/*
 * Limits an entry's age to PP_LRU_SPAN. Compare-and-swap: a reader may stamp the entry meanwhile. Relaxed: no other
 * access depends on the order of a stamp.
 */
static void age(struct pp_entry *e, uint32_t now)
{
	uint32_t used = stamp(e);

	if (now - used > PP_LRU_SPAN)
		atomic_compare_exchange_strong_explicit(&e->stamp, &used, now - PP_LRU_SPAN,
							memory_order_relaxed, memory_order_relaxed);
	if (now - e->queued > PP_LRU_SPAN)
		e->queued = now - PP_LRU_SPAN;
}

static void age_all(const struct pp_list *list, const struct pp_pool *pool, uint32_t now)
{
	uint32_t i, next = list->first;

	for (i = list->count; i; i--) {
		struct pp_entry *e = pp_entry_at(pool, next);

		next = e->next;
		age(e, now);
	}
}

void pp_lru_age(struct pp_lru *lru, const struct pp_pool *pool, uint32_t now)
{
	age_all(&lru->warm, pool, now);
	age_all(&lru->cold, pool, now);
}

static uint32_t batch(const struct pp_lru *lru)
{
	uint32_t part = (lru->warm.count + lru->cold.count) / SHARE;

	if (!part)
		return 1;
	return part < BATCH ? part : BATCH;
}

/* Looks at @left entries at most. */
static void cool(struct pp_lru *lru, const struct pp_pool *pool, uint32_t than, uint32_t *left)
{
	uint32_t want = batch(lru);

	for (; *left && lru->cold.count < want; (*left)--) {
		struct pp_entry *e = pp_list_first(&lru->warm, pool);

		if (!e)
			return;
		if (!is_old(lru, pool, e, than))
			continue;
		change(e, PP_LIVE, PP_COLD);
		move(lru, pool, e, true);
	}
}

/* COLD entries that are in use become LIVE, with the present time as their stamp. */
static void keep_used(struct pp_lru *lru, const struct pp_pool *pool, struct pp_readers *readers, uint32_t now)
{
	uint32_t i, next = lru->cold.first;

	pp_fence_heavy(readers);
	pp_readers_count(readers, pool);
	for (i = lru->cold.count; i; i--) {
		struct pp_entry *e = pp_entry_at(pool, next);

		next = e->next;
		if (!pp_users(readers, pool, e))
			continue;
		change(e, PP_COLD, PP_LIVE);
		atomic_store_explicit(&e->stamp, now, memory_order_relaxed);
		move(lru, pool, e, false);
	}
}

static struct pp_entry *take_cold(struct pp_lru *lru, const struct pp_pool *pool, uint32_t than)
{
	uint32_t i, next = lru->cold.first;

	for (i = lru->cold.count; i; i--) {
		struct pp_entry *e = pp_entry_at(pool, next);

		next = e->next;
		if (is_after(e->queued, than)) {
			/* used after @than: back to the warm list, to make place for older entries */
			change(e, PP_COLD, PP_LIVE);
			move(lru, pool, e, false);
			continue;
		}
		if (change(e, PP_COLD, PP_EVICTED)) {
			pp_lru_remove(lru, pool, e);
			return e;
		}
		move(lru, pool, e, false);	/* a reader made it LIVE meanwhile */
	}
	return NULL;
}

/*
 * Looks at each entry at most twice: once to find that it was used since it was
 * queued, and once more in its new place.
 */
struct pp_entry *pp_lru_take(struct pp_lru *lru, const struct pp_pool *pool, struct pp_readers *readers,
			     uint32_t now, uint32_t than)
{
	struct pp_entry *e = take_cold(lru, pool, than);
	uint32_t left = 2 * lru->warm.count;

	while (!e && left) {
		uint32_t cold = lru->cold.count;

		cool(lru, pool, than, &left);
		if (lru->cold.count == cold)
			break;
		keep_used(lru, pool, readers, now);
		e = take_cold(lru, pool, than);
	}
	return e;
}

bool pp_lru_take_this(struct pp_lru *lru, const struct pp_pool *pool, struct pp_readers *readers, struct pp_entry *e)
{
	change(e, PP_LIVE, PP_COLD);
	pp_fence_heavy(readers);
	pp_readers_count(readers, pool);
	if (pp_users(readers, pool, e)) {
		change(e, PP_COLD, PP_LIVE);
		if (e->link)
			move(lru, pool, e, false);
		return false;
	}
	if (!change(e, PP_COLD, PP_EVICTED))
		return false;
	pp_lru_remove(lru, pool, e);
	return true;
}
