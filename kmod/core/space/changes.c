// SPDX-License-Identifier: GPL-2.0
#include <linux/hash.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include "changes.h"

enum {
	CHANGES_MAX = 1 << 20,
};

void pp_changes_init(struct pp_changes *c)
{
	c->list = c->first;
	c->room = PP_CHANGES_FIRST;
}

void pp_changes_free(struct pp_changes *c)
{
	if (c->list != c->first)
		kvfree(c->list);
}

static struct pp_change *change_at(struct pp_changes *c, u32 place)
{
	return &c->list[place - 1];
}

static u32 *change_bucket(struct pp_changes *c, const struct task_struct *by)
{
	return &c->buckets[hash_ptr(by, PP_CHANGES_BITS)];
}

/* A place for another change, or 0 */
static u32 change_take_place(struct pp_changes *c)
{
	u32 place = c->unused;

	if (place)
		c->unused = change_at(c, place)->next;
	else if (c->ever < c->room)
		place = ++c->ever;
	return place;
}

void pp_change_begin(struct pp_changes *c, unsigned long start, unsigned long end, bool keeps_pinned)
{
	u32 *bucket = change_bucket(c, current), place = change_take_place(c);

	c->begun++;
	if (!place) {
		c->more++;
		c->full = true;
		return;
	}
	*change_at(c, place) = (struct pp_change){
		.start = start, .end = end, .number = c->begun, .by = current, .next = *bucket, .keeps_pinned = keeps_pinned,
	};
	*bucket = place;
	c->count++;
}

static bool change_is(const struct pp_change *one, const struct pp_change *ended)
{
	return one->start == ended->start && one->end == ended->end && one->by == ended->by;
}

bool pp_change_end(struct pp_changes *c, const struct pp_change *ended)
{
	u32 *link = change_bucket(c, ended->by), place;
	struct pp_change *one;

	for (; (place = *link); link = &one->next) {
		one = change_at(c, place);
		if (change_is(one, ended)) {
			*link = one->next;
			one->number = 0;
			one->next = c->unused;
			c->unused = place;
			if (!--c->count)
				c->ever = c->unused = 0;
			return true;
		}
	}
	if (!WARN_ON_ONCE(!c->more))
		c->more--;
	return false;
}

u64 pp_changes_last(const struct pp_changes *c, unsigned long start, unsigned long last, bool pinned)
{
	u64 number = 0;
	u32 i;

	for (i = 0; i < c->ever; i++)
		if (pp_change_concerns(&c->list[i], start, last, pinned))
			number = max(number, c->list[i].number);
	return number;
}

/*
 * While @more is not 0, each new range waits, whatever its addresses. Without more room, busy threads could keep @more
 * above 0 for ever. So a thread that waits makes room: changes that begin later are listed, and @more falls to 0 when
 * those that it counts have ended.
 */
bool pp_changes_grow(struct pp_changes *c, spinlock_t *lock)
{
	struct pp_change *list;
	u32 room;

	spin_lock(lock);
	room = 2 * (c->room + c->more);
	spin_unlock(lock);
	if (room > CHANGES_MAX)
		return false;
	list = kvmalloc_array(room, sizeof(*list), GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!list)
		return false;
	spin_lock(lock);
	if (c->room < room) {
		memcpy(list, c->list, c->ever * sizeof(*list));
		swap(c->list, list);
		c->room = room;
		c->full = false;
	}
	spin_unlock(lock);
	if (list != c->first)
		kvfree(list);
	return true;
}
