/* SPDX-License-Identifier: GPL-2.0 */
/*
 * VRAM: pages of 64 KiB, numbered from the start of the BAR.
 *
 * The allocation order provokes errors in consumers:
 *	- Neighbouring pages of a block are apart in memory, because BAR1 addresses on hardware are
 *	  not contiguous in general.
 *	- Pages freed last are reused first, in reverse order, so that DMA to freed memory soon corrupts
 *	  data of a new owner.
 *
 * A freed page is "away" while CPU mappings or direct I/O still hold references to the page
 * (emu/common/memory/p2pmem.h). The page becomes free when these references are dropped.
 */
#ifndef _EMUGPU_VRAM_H
#define _EMUGPU_VRAM_H

#include <linux/mutex.h>
#include <linux/types.h>

struct page;

struct emugpu_vram {
	struct mutex lock;	/* protects all fields below, except @last */
	u32 *free;		/* stack of free page numbers; away pages are at the other end of the array */
	u32 nfree;
	u32 naway;
	u32 npages;
	u64 *last;		/* per page: number of the client with data in it, or 0; only for the page's owner */
	struct page *cpu;	/* p2pdma page of VRAM page 0, or NULL; written before the first use */
};

/* Sets whether new allocations are scattered. The initial value is the module parameter. */
void emugpu_vram_scatter(bool on);

int emugpu_vram_init(struct emugpu_vram *vram, u32 npages);
void emugpu_vram_destroy(struct emugpu_vram *vram);
int emugpu_vram_alloc(struct emugpu_vram *vram, u32 *pages, u32 n);
void emugpu_vram_free(struct emugpu_vram *vram, const u32 *pages, u32 n);

/* Forgets the p2pdma pages. Call when all pages are at home (p2pmem.h), before emugpu_p2pmem_close(). */
void emugpu_vram_forget_cpu(struct emugpu_vram *vram);

/* Number of pages that can be allocated now */
u32 emugpu_vram_nr_free(struct emugpu_vram *vram);

#endif
