/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The revocation page of a file, which the process maps and reads: a 32-bit word for each slot. The
 * slot of a region is its id; the slot of a watch is PEERPIN_MAX_REGIONS plus its id. A word is odd
 * while a region in its slot is being pinned or is live, or while a watch lives, else even. A word
 * only grows, so a (slot, epoch) pair names one region or watch for ever, even after the slot is
 * used again.
 */
#ifndef _PEERPIN_EPOCH_H
#define _PEERPIN_EPOCH_H

#include <linux/compiler.h>
#include <linux/limits.h>
#include <linux/types.h>
#include <linux/xarray.h>
#include <asm/barrier.h>

/** struct pp_epochs - the pages by their index, allocated when first needed */
struct pp_epochs {
	struct xarray pages;
};

void pp_epochs_init(struct pp_epochs *e);

/* the word of @slot, valid until pp_epochs_free(); NULL when out of memory */
u32 *pp_epoch_word(struct pp_epochs *e, u32 slot);

/* called by the file's release: no mapping is left, because a mapping holds the file */
void pp_epochs_free(struct pp_epochs *e);

/* mmap() of the file that contains @e; the vma holds this file */
int pp_epochs_mmap(struct pp_epochs *e, struct vm_area_struct *vma);

/* a pin or watch begins: make the word odd. The caller owns the slot. Returns the epoch */
static inline u32 pp_epoch_begin(u32 *word)
{
	u32 epoch = *word + 1;

	WRITE_ONCE(*word, epoch);
	return epoch;
}

/*
 * The region or watch has ended: make the word even. A reader of the even word also sees all earlier
 * stores. Stores of the memory's next owner come later, because r->lock (or the lock of the watch's
 * space) is unlocked first, and then the GPU driver's or the mm's lock.
 */
static inline void pp_epoch_end(u32 *word)
{
	/* pairs with the acquire load of the process that maps the page */
	smp_store_release(word, *word + 1);
}

/* true: the slot must not be used again, because its epochs would repeat */
static inline bool pp_epoch_exhausted(const u32 *word)
{
	/* one pin uses two epochs for each try of each provider that AUTO asks: twenty */
	return *word >= U32_MAX - 31;
}

#endif
