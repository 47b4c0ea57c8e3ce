/* SPDX-License-Identifier: GPL-2.0 */
/*
 * BAR1: who holds how much of the aperture. VRAM page n lies at n * 64 KiB in
 * it, so there is nothing to place; a page held by several pins counts once,
 * as pins of the same memory share their extents on the real driver. Before
 * CUDA 7.0 they did not: bar_sharing=0.
 */
#ifndef _EMUGPU_BAR1_H
#define _EMUGPU_BAR1_H

#include <linux/types.h>

struct emugpu_bar1 {
	u32 *refs;	/* pins that hold each page; API lock */
	u32 npages;
	u32 used;	/* pages with refs, or the sum of refs without sharing; written under the API lock */
	u32 withheld;	/* from pins, beside the reserve, by a test; API lock */
};

int emugpu_bar1_init(struct emugpu_bar1 *bar1, u32 npages);
void emugpu_bar1_destroy(struct emugpu_bar1 *bar1);

/* -ENOMEM unless @n pages and the reserve are free. API lock held. */
int emugpu_bar1_get(struct emugpu_bar1 *bar1, const u32 *pages, u32 n);
void emugpu_bar1_put(struct emugpu_bar1 *bar1, const u32 *pages, u32 n);

/* From now on as if just @bytes were free; ~0: no such limit. API lock held. */
int emugpu_bar1_limit(struct emugpu_bar1 *bar1, u64 bytes);

u64 emugpu_bar1_used(const struct emugpu_bar1 *bar1);
u64 emugpu_bar1_reserved(const struct emugpu_bar1 *bar1);

#endif
