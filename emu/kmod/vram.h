/* SPDX-License-Identifier: GPL-2.0 */
/*
 * VRAM: pages of 64 KiB, numbered from the start of the BAR.
 *
 * Which pages a block gets is meant to hurt: neighbours in a block are not
 * neighbours in memory (as BAR1 addresses on hardware are not in general), and
 * pages freed last are given out first, in another order, so that a DMA to
 * freed memory soon lands in what somebody else looks at.
 */
#ifndef _EMUGPU_VRAM_H
#define _EMUGPU_VRAM_H

#include <linux/mutex.h>
#include <linux/types.h>

struct emugpu_vram {
	struct mutex lock;	/* of all below */
	u32 *free;		/* stack of free page numbers */
	u32 nfree;
};

/* Whether what is allocated from now on is scattered; at first as the module parameter says. */
void emugpu_vram_scatter(bool on);

int emugpu_vram_init(struct emugpu_vram *vram, u32 npages);
void emugpu_vram_destroy(struct emugpu_vram *vram);
int emugpu_vram_alloc(struct emugpu_vram *vram, u32 *pages, u32 n);
void emugpu_vram_free(struct emugpu_vram *vram, const u32 *pages, u32 n);

#endif
