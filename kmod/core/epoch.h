/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The revocation page of one file: a 32-bit word per region id, readable by
 * the process. Odd: a region lives under that epoch; even: none does. A word
 * only grows, so an (id, epoch) pair that userspace kept names one region for
 * ever, also after the id has been used again.
 */
#ifndef _PEERPIN_EPOCH_H
#define _PEERPIN_EPOCH_H

#include <linux/compiler.h>
#include <linux/limits.h>
#include <linux/mm_types.h>
#include <linux/types.h>
#include <asm/barrier.h>
#include "../uapi/peerpin.h"

#define PP_EPOCH_PAGES (PEERPIN_MAX_REGIONS * sizeof(u32) / PAGE_SIZE)

/** struct pp_epochs - its pages, made when first needed */
struct pp_epochs {
	struct page *pages[PP_EPOCH_PAGES];
};

/* the word of @id or NULL when out of memory; stays until pp_epochs_free() */
u32 *pp_epoch_word(struct pp_epochs *e, u32 id);

/* from the file's release: a mapping would have held the file */
void pp_epochs_free(struct pp_epochs *e);

/* mmap of the file that @e is part of, which the vma holds */
int pp_epochs_mmap(struct pp_epochs *e, struct vm_area_struct *vma);

/* a region begins to live; the caller owns the id; returns its epoch */
static inline u32 pp_epoch_begin(u32 *word)
{
	u32 epoch = *word + 1;

	WRITE_ONCE(*word, epoch);
	return epoch;
}

/*
 * It lives no more. A cache that sees this sees what was before it, too. What
 * the owner of the memory does next is kept behind it by the locks on the way.
 */
static inline void pp_epoch_end(u32 *word)
{
	/* pairs with the acquire load of whoever has mapped the page */
	smp_store_release(word, *word + 1);
}

/* the id must not be used again: its epochs would repeat */
static inline bool pp_epoch_exhausted(const u32 *word)
{
	/* a pin uses two for each provider that is asked */
	return *word >= U32_MAX - 15;
}

#endif
