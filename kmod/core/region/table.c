// SPDX-License-Identifier: GPL-2.0
#include <linux/build_bug.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/nospec.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include "region.h"
#include "table.h"

struct pp_table_entry {
	void *object;
	u32 next;	/* if free: the entry that was freed before */
	u32 turn;	/* number of times that the entry was freed */
};

#define NO_ENTRY U32_MAX
static_assert(PP_TABLE_MAX < NO_ENTRY);
static_assert(((u64)PP_TABLE_FIRST << (PP_TABLE_CHUNKS - 1)) *
	      sizeof(struct pp_table_entry) <= INT_MAX);

/* Chunk N has PP_TABLE_FIRST << N entries. */
static unsigned int table_chunk(u32 index)
{
	return ilog2(index / PP_TABLE_FIRST + 1);
}

static u32 table_chunk_start(unsigned int chunk)
{
	return PP_TABLE_FIRST * (BIT(chunk) - 1);
}

/* @index must be below @ever: the chunk of such an entry exists, and stays. */
static struct pp_table_entry *table_entry(struct pp_table *t, u32 index)
{
	unsigned int chunk = table_chunk(index);

	return t->chunks[chunk] + (index - table_chunk_start(chunk));
}

void pp_table_init(struct pp_table *t, u32 limit, gfp_t gfp)
{
	spin_lock_init(&t->lock);
	mutex_init(&t->growing);
	t->limit = limit;
	t->gfp = gfp;
	t->free = NO_ENTRY;
}

void pp_table_destroy(struct pp_table *t)
{
	unsigned int i;

	for (i = 0; i < PP_TABLE_CHUNKS; i++)
		kvfree(t->chunks[i]);
}

static int table_first_time(struct pp_table *t, u32 *index)
{
	lockdep_assert_held(&t->lock);
	if (t->ever == t->limit)
		return -ENOSPC;
	if (!t->chunks[table_chunk(t->ever)])
		return -ENOMEM;
	*index = t->ever;
	smp_store_release(&t->ever, t->ever + 1);	/* pairs with table_object() */
	return 0;
}

/* Takes the entry freed last, else an entry that was never taken. */
static int table_take_locked(struct pp_table *t, u32 *index)
{
	lockdep_assert_held(&t->lock);
	if (t->free == NO_ENTRY)
		return table_first_time(t, index);
	*index = t->free;
	t->free = table_entry(t, *index)->next;
	return 0;
}

/* Allocates the next chunk; the last chunk ends at the limit. */
static int table_add_chunk(struct pp_table *t, unsigned int at)
{
	u32 left = t->limit - table_chunk_start(at);
	struct pp_table_entry *chunk;

	chunk = kvcalloc(min_t(u32, left, PP_TABLE_FIRST << at), sizeof(*chunk),
			 t->gfp | __GFP_NOWARN);
	if (!chunk)
		return -ENOMEM;
	spin_lock(&t->lock);
	t->chunks[at] = chunk;
	spin_unlock(&t->lock);
	return 0;
}

/*
 * A chunk can be 8 MB large, and many threads may need it at the same moment: one of them allocates, the others
 * wait. 0: try again. If other threads took all entries meanwhile, the next try returns -ENOSPC.
 */
static int table_grow(struct pp_table *t)
{
	u32 ever;
	int ret = 0;

	mutex_lock(&t->growing);
	ever = READ_ONCE(t->ever);
	if (ever < t->limit && !t->chunks[table_chunk(ever)])
		ret = table_add_chunk(t, table_chunk(ever));
	mutex_unlock(&t->growing);
	return ret;
}

int pp_table_take(struct pp_table *t, void *object, u32 *index, u32 *turn)
{
	struct pp_table_entry *e;
	int ret;

	do {
		spin_lock(&t->lock);
		ret = table_take_locked(t, index);
		if (!ret) {
			e = table_entry(t, *index);
			smp_store_release(&e->object, object);	/* pairs with table_object() */
			if (turn)
				*turn = e->turn;
		}
		spin_unlock(&t->lock);
	} while (ret == -ENOMEM && !table_grow(t));
	return ret;
}

/* The acquire loads pair with the release stores of the entry, and of @ever after the chunk exists. */
static void *table_object(struct pp_table *t, u32 index)
{
	u32 ever = smp_load_acquire(&t->ever);

	if (index >= ever)
		return NULL;
	index = array_index_nospec(index, ever);
	return smp_load_acquire(&table_entry(t, index)->object);
}

/* Without the lock: only this caller writes to a taken entry without an object. */
void pp_table_put(struct pp_table *t, u32 index, void *object)
{
	/* pairs with table_object() */
	smp_store_release(&table_entry(t, index)->object, object);
}

void *pp_table_take_out(struct pp_table *t, u32 index)
{
	void *object;

	spin_lock(&t->lock);
	object = table_object(t, index);
	if (object)	/* without an object, a pp_table_put() may be writing */
		WRITE_ONCE(table_entry(t, index)->object, NULL);
	spin_unlock(&t->lock);
	return object;
}

void pp_table_give(struct pp_table *t, u32 index)
{
	struct pp_table_entry *e;

	spin_lock(&t->lock);
	e = table_entry(t, index);
	WRITE_ONCE(e->object, NULL);
	e->turn++;
	e->next = t->free;
	t->free = index;
	spin_unlock(&t->lock);
}

static struct peerpin_region *table_find_locked(struct pp_table *t, u32 index,
						const u32 *turn)
{
	struct peerpin_region *r = table_object(t, index);

	lockdep_assert_held(&t->lock);
	if (!r || (turn && table_entry(t, index)->turn != *turn))
		return NULL;
	pp_region_get(r);
	return r;
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

struct peerpin_region *pp_table_glance(struct pp_table *t, u32 index)
{
	struct peerpin_region *r;
	bool got;

	rcu_read_lock();
	r = table_object(t, index);
	got = r && pp_region_tryget(r);
	rcu_read_unlock();
	/* tryget also fails for an ended region with a spread count, which the table still contains */
	return got || !r ? r : pp_table_find(t, index, NULL);
}

/* Takes the lock for one entry at a time, so that other threads do not wait long. */
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
