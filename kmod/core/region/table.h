/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A table of regions, or of other objects, by number. The entry freed last is the next to be taken,
 * so pins and unpins touch the same few cache lines. Entries stay allocated until the table
 * is destroyed.
 *
 * An XArray would need 113 lines, instead of some 400 of this table and cookie.c, but would
 * slow a pin in the emulator from 12.2 us to between 16 and 18 us.
 */
#ifndef _PEERPIN_TABLE_H
#define _PEERPIN_TABLE_H

#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/types.h>

struct peerpin_region;
struct pp_table_entry;

enum {
	PP_TABLE_CHUNKS = 19,	/* a 20th chunk would exceed INT_MAX, the limit of kvcalloc() */
	PP_TABLE_FIRST = 256,	/* entries of the first chunk */
	PP_TABLE_MAX = PP_TABLE_FIRST * ((1 << PP_TABLE_CHUNKS) - 1),
};

/**
 * struct pp_table - a table of regions, or of other objects, by number
 * @lock: protects the table and its entries. pp_table_put() does not take @lock, nor does
 *	pp_table_glance() for a live region. Not taken in interrupts; no lock is taken inside @lock
 * @growing: held by the thread that allocates a chunk. @chunks is written under @growing and @lock, which is
 *	taken inside
 * @chunks: arrays of entries, each twice as long as the array before, up to @limit;
 *	allocated when first needed and kept
 * @limit: maximum number of entries, at most PP_TABLE_MAX
 * @gfp: GFP_KERNEL_ACCOUNT, or GFP_KERNEL for a table that all processes share
 * @ever: lowest index that was never taken
 * @free: first entry of the free list: the entry freed last; U32_MAX if the list is empty
 */
struct pp_table {
	spinlock_t lock;
	struct mutex growing;
	struct pp_table_entry *chunks[PP_TABLE_CHUNKS];
	u32 limit;
	gfp_t gfp;
	u32 ever;
	u32 free;
};

void pp_table_init(struct pp_table *t, u32 limit, gfp_t gfp);

/* free the memory of an unused table; objects in it are ignored */
void pp_table_destroy(struct pp_table *t);

/**
 * pp_table_take() - take an entry
 * @object: the object to put in, or NULL if pp_table_put() follows. The caller keeps a reference
 *	on a region until the region is taken out
 * @index: set to the index of the entry
 * @turn: NULL, or set to the number of times that the entry was freed
 *
 * Context: process. Return: 0; -ENOSPC at the limit; -ENOMEM.
 */
int pp_table_take(struct pp_table *t, void *object, u32 *index, u32 *turn);

/* put an object into a taken entry; this and the functions below: any context but interrupts */
void pp_table_put(struct pp_table *t, u32 index, void *object);

/* Take the object out and return it, to one caller only; the entry stays taken. NULL: no object */
void *pp_table_take_out(struct pp_table *t, u32 index);

/* free a taken entry; an object in it is taken out */
void pp_table_give(struct pp_table *t, u32 index);

/**
 * pp_table_find() - the region of an entry, in a table of regions
 * @turn: NULL, or the turn (see pp_table_take()) that the entry must have
 *
 * Return: the region with a reference, or NULL.
 */
struct peerpin_region *pp_table_find(struct pp_table *t, u32 index,
				     const u32 *turn);

/*
 * Like pp_table_find() without @turn, but takes no lock for a live region: a region that another thread
 * takes out of the table at the same time may be returned.
 */
struct peerpin_region *pp_table_glance(struct pp_table *t, u32 index);

/* in a table of regions: the first region at *@index or later, with a reference; sets *@index. NULL: no region */
struct peerpin_region *pp_table_next(struct pp_table *t, u32 *index);

#endif
