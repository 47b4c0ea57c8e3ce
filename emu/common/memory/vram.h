/* SPDX-License-Identifier: GPL-2.0 */
/*
 * VRAM: pages of 64 KiB, numbered from the start of the BAR.
 *
 * Which pages a block gets is meant to hurt: neighbours in a block are not
 * neighbours in memory (as BAR1 addresses on hardware are not in general), and
 * pages freed last are given out first, in another order, so that a DMA to
 * freed memory soon lands in what somebody else looks at.
 *
 * Pages that were freed while a device may still move data to or from them, as
 * it was lent them (emu/common/memory/p2pmem.h), are away: they are free when it is done.
 */
#ifndef _EMUGPU_VRAM_H
#define _EMUGPU_VRAM_H

#include <linux/mutex.h>
#include <linux/types.h>

struct page;

struct emugpu_vram {
	struct mutex lock;	/* of all below */
	u32 *free;		/* stack of free page numbers; at its other end those away */
	u32 nfree;
	u32 naway;
	u32 npages;
	u64 *last;		/* of each page: what client's data it may hold, or 0; its owner's, without the lock */
	struct page *cpu;	/* the CPU's for page 0, or NULL; written before the first use */
};

/* Whether what is allocated from now on is scattered; at first as the module parameter says. */
void emugpu_vram_scatter(bool on);

int emugpu_vram_init(struct emugpu_vram *vram, u32 npages);
void emugpu_vram_destroy(struct emugpu_vram *vram);
int emugpu_vram_alloc(struct emugpu_vram *vram, u32 *pages, u32 n);
void emugpu_vram_free(struct emugpu_vram *vram, const u32 *pages, u32 n);

/* All are at home, and the CPU's pages go. */
void emugpu_vram_forget_cpu(struct emugpu_vram *vram);

/* How many pages could be allocated now */
u32 emugpu_vram_nr_free(struct emugpu_vram *vram);

#endif
