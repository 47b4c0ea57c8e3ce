/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A table of regions by number. The entry freed last is the next to be taken, so
 * pins and unpins touch the same few cache lines. An entry is allocated once.
 *
 * Why not an XArray: it took 113 lines in place of 409 for this and cookie.c, but a
 * pin took 16 to 18 us in place of 12.2 (emulator, Linux 6.1).
 */
#ifndef _PEERPIN_TABLE_H
#define _PEERPIN_TABLE_H

#include <linux/spinlock.h>
#include <linux/types.h>

struct peerpin_region;
struct pp_table_entry;

enum {
	PP_TABLE_CHUNKS = 19,	/* the last is as long as an allocation may be */
	PP_TABLE_FIRST = 256,	/* entries of the first chunk */
	PP_TABLE_MAX = PP_TABLE_FIRST * ((1 << PP_TABLE_CHUNKS) - 1),
};

/**
 * struct pp_table - see above
 * @lock: protects everything, but that pp_table_put() goes without; not taken in
 *	interrupts; innermost
 * @chunks: arrays of entries, each twice as long as the one before, as far as
 *	@limit allows; made when first needed and kept
 * @limit: entries at most; no more than PP_TABLE_MAX
 * @gfp: GFP_KERNEL_ACCOUNT, but where who happens to need the next array is not the
 *	only one who uses it
 * @ever: entries that were ever taken: those from here on are untouched
 * @free: the entry given up last, or NULL
 */
struct pp_table {
	spinlock_t lock;
	struct pp_table_entry *chunks[PP_TABLE_CHUNKS];
	u32 limit;
	gfp_t gfp;
	u32 ever;
	struct pp_table_entry *free;
};

void pp_table_init(struct pp_table *t, u32 limit, gfp_t gfp);

/* nobody uses it any more; what it holds is not looked at */
void pp_table_destroy(struct pp_table *t);

/**
 * pp_table_take() - an entry
 * @r: for it, or NULL until pp_table_put(). The caller sees to it that a region
 *	has a reference until it is taken out
 * @index: set
 * @turn: NULL, or how often this entry was given up: never the same twice
 *
 * Context: process. Return: 0; -ENOSPC at the limit; -ENOMEM.
 */
int pp_table_take(struct pp_table *t, struct peerpin_region *r, u32 *index,
		  u32 *turn);

/* The rest: any context but interrupts. Put a region into a taken entry. */
void pp_table_put(struct pp_table *t, u32 index, struct peerpin_region *r);

/*
 * Take the region out, for the one caller who is told so; the entry stays taken.
 * NULL: there is none.
 */
struct peerpin_region *pp_table_take_out(struct pp_table *t, u32 index);

/* give up a taken entry, and the region in it if there is one */
void pp_table_give(struct pp_table *t, u32 index);

/**
 * pp_table_find() - the region of an entry
 * @turn: NULL, or the entry's turn must be this
 *
 * Return: with a reference, or NULL.
 */
struct peerpin_region *pp_table_find(struct pp_table *t, u32 index,
				     const u32 *turn);

/* the first region from *@index on, with a reference, *@index set; or NULL */
struct peerpin_region *pp_table_next(struct pp_table *t, u32 *index);

#endif
