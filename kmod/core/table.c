// SPDX-License-Identifier: GPL-2.0
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include "region.h"
#include "table.h"

#define TABLE_END U32_MAX

struct pp_table_entry {
	struct peerpin_region *region;
	u32 next;	/* while it is free */
	u32 turn;	/* how often it was taken */
};

/* The chunk of an index, of whose length it is the logarithm */
static unsigned int table_chunk(u32 index)
{
	return ilog2(index / PP_TABLE_FIRST + 1);
}

static u32 table_chunk_start(unsigned int chunk)
{
	return PP_TABLE_FIRST * (BIT(chunk) - 1);
}

/* It was taken once at least, so its chunk is there. */
static struct pp_table_entry *table_entry(struct pp_table *t, u32 index)
{
	unsigned int chunk = table_chunk(index);

	lockdep_assert_held(&t->lock);
	return t->chunks[chunk] + (index - table_chunk_start(chunk));
}

void pp_table_init(struct pp_table *t, u32 limit)
{
	spin_lock_init(&t->lock);
	t->limit = limit;
	t->free = TABLE_END;
}

void pp_table_destroy(struct pp_table *t)
{
	unsigned int i;

	for (i = 0; i < PP_TABLE_CHUNKS; i++)
		kvfree(t->chunks[i]);
}

/* The entry that was given up last, else one that was never taken */
static int table_free_index(struct pp_table *t, u32 *index)
{
	if (t->free != TABLE_END) {
		*index = t->free;
		t->free = table_entry(t, *index)->next;
		return 0;
	}
	if (t->ever == t->limit)
		return -ENOSPC;
	if (!t->chunks[table_chunk(t->ever)])
		return -ENOMEM;
	*index = t->ever++;
	return 0;
}

static int table_take_locked(struct pp_table *t, struct peerpin_region *r,
			     u32 *index, u32 *turn)
{
	int ret = table_free_index(t, index);
	struct pp_table_entry *e;

	if (ret)
		return ret;
	e = table_entry(t, *index);
	if (turn)
		*turn = e->turn;
	e->turn++;
	e->region = r;
	return 0;
}

/* Another thread may be quicker. */
static void table_add_chunk(struct pp_table *t, unsigned int at,
			    struct pp_table_entry *chunk)
{
	spin_lock(&t->lock);
	if (!t->chunks[at])
		swap(t->chunks[at], chunk);
	spin_unlock(&t->lock);
	kvfree(chunk);
}

/* The chunk behind what was ever taken */
static int table_grow(struct pp_table *t)
{
	unsigned int at = table_chunk(READ_ONCE(t->ever));
	struct pp_table_entry *chunk;

	chunk = kvcalloc(PP_TABLE_FIRST << at, sizeof(*chunk),
			 GFP_KERNEL_ACCOUNT);
	if (!chunk)
		return -ENOMEM;
	table_add_chunk(t, at, chunk);
	return 0;
}

int pp_table_take(struct pp_table *t, struct peerpin_region *r, u32 *index,
		  u32 *turn)
{
	int ret;

	do {
		spin_lock(&t->lock);
		ret = table_take_locked(t, r, index, turn);
		spin_unlock(&t->lock);
	} while (ret == -ENOMEM && !table_grow(t));
	return ret;
}

void pp_table_put(struct pp_table *t, u32 index, struct peerpin_region *r)
{
	spin_lock(&t->lock);
	table_entry(t, index)->region = r;
	spin_unlock(&t->lock);
}

struct peerpin_region *pp_table_take_out(struct pp_table *t, u32 index)
{
	struct peerpin_region *r = NULL;

	spin_lock(&t->lock);
	if (index < t->ever)
		swap(table_entry(t, index)->region, r);
	spin_unlock(&t->lock);
	return r;
}

void pp_table_give(struct pp_table *t, u32 index)
{
	struct pp_table_entry *e;

	spin_lock(&t->lock);
	e = table_entry(t, index);
	e->region = NULL;
	e->next = t->free;
	t->free = index;
	spin_unlock(&t->lock);
}

static struct peerpin_region *table_find_locked(struct pp_table *t, u32 index,
						const u32 *turn)
{
	struct pp_table_entry *e;

	if (index >= t->ever)
		return NULL;
	e = table_entry(t, index);
	if (!e->region || (turn && e->turn != *turn + 1))
		return NULL;
	pp_region_get(e->region);
	return e->region;
}

struct peerpin_region *pp_table_find(struct pp_table *t, u32 index,
				     const u32 *turn)
{
	struct peerpin_region *r;

	spin_lock(&t->lock);
	r = table_find_locked(t, index, turn);
	spin_unlock(&t->lock);
	return r;
}

/* One at a time, for the lock must not be held for long. */
struct peerpin_region *pp_table_next(struct pp_table *t, u32 *index)
{
	struct peerpin_region *r;

	for (; *index < READ_ONCE(t->ever); (*index)++) {
		r = pp_table_find(t, *index, NULL);
		if (r)
			return r;
	}
	return NULL;
}
