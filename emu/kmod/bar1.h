/* SPDX-License-Identifier: GPL-2.0 */
/*
 * BAR1: accounting of the aperture. VRAM page n is at offset n * 64 KiB, so there is no address to
 * allocate. In NVIDIA's driver, pins of the same memory share BAR1, so a page with several pins
 * counts once. bar_sharing=0 counts each pin, as in drivers before CUDA 7.0.
 */
#ifndef _EMUGPU_BAR1_H
#define _EMUGPU_BAR1_H

#include <linux/types.h>

struct emugpu_bar1 {
	u32 *refs;	/* number of pins and mapped dma-bufs per page; API lock */
	u32 npages;
	u32 used;	/* number of pages with nonzero refs; bar_sharing=0: sum of all refs; writers: API lock */
	u32 withheld;	/* free pages that a test withholds from pins, in addition to bar1_reserve_mib; API lock */
};

int emugpu_bar1_init(struct emugpu_bar1 *bar1, u32 npages);
void emugpu_bar1_destroy(struct emugpu_bar1 *bar1);

/*
 * Takes @n pages. Returns -ENOMEM if fewer than @n pages are free. Pages of bar1_reserve_mib and
 * @withheld do not count as free. API lock held.
 */
int emugpu_bar1_get(struct emugpu_bar1 *bar1, const u32 *pages, u32 n);
void emugpu_bar1_put(struct emugpu_bar1 *bar1, const u32 *pages, u32 n);

/* Limits the pages that are still free for pins to @bytes; ~0: no limit. API lock held. */
int emugpu_bar1_limit(struct emugpu_bar1 *bar1, u64 bytes);

u64 emugpu_bar1_used(const struct emugpu_bar1 *bar1);
u64 emugpu_bar1_reserved(const struct emugpu_bar1 *bar1);

#endif
