/* SPDX-License-Identifier: GPL-2.0 */
/*
 * BAR1: accounting of the aperture. VRAM page n is at offset n * 64 KiB, so there is
 * no address to allocate. A page with several pins counts once, because pins of
 * the same memory share BAR1 in NVIDIA's driver. Before CUDA 7.0 they did not:
 * bar_sharing=0.
 */
#ifndef _EMUGPU_BAR1_H
#define _EMUGPU_BAR1_H

#include <linux/types.h>

struct emugpu_bar1 {
	u32 *refs;	/* number of pins and mapped dma-bufs per page; API lock */
	u32 npages;
	u32 used;	/* pages with refs, or the sum of refs without sharing; written under the API lock */
	u32 withheld;	/* pages that a test withholds from pins, beside the reserve; API lock */
};

int emugpu_bar1_init(struct emugpu_bar1 *bar1, u32 npages);
void emugpu_bar1_destroy(struct emugpu_bar1 *bar1);

/* -ENOMEM unless @n pages are free beside the reserve. API lock held. */
int emugpu_bar1_get(struct emugpu_bar1 *bar1, const u32 *pages, u32 n);
void emugpu_bar1_put(struct emugpu_bar1 *bar1, const u32 *pages, u32 n);

/* Withholds all free pages except @bytes; ~0: no limit. API lock held. */
int emugpu_bar1_limit(struct emugpu_bar1 *bar1, u64 bytes);

u64 emugpu_bar1_used(const struct emugpu_bar1 *bar1);
u64 emugpu_bar1_reserved(const struct emugpu_bar1 *bar1);

#endif
