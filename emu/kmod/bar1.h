/* SPDX-License-Identifier: GPL-2.0 */
/*
 * BAR1: who holds how much of the aperture. VRAM page n lies at n * 64 KiB in
 * it, so there is nothing to place; a page held by several pins counts once,
 * as pins of the same memory share their extents on the real driver.
 */
#ifndef _EMUGPU_BAR1_H
#define _EMUGPU_BAR1_H

#include <linux/types.h>

struct emugpu_bar1 {
	u32 *refs;	/* pins that hold each page; API lock */
	u32 npages;
	u32 used;	/* pages with refs; written under the API lock */
};

int emugpu_bar1_init(struct emugpu_bar1 *bar1, u32 npages);
void emugpu_bar1_destroy(struct emugpu_bar1 *bar1);

/* -ENOMEM unless @n pages and the reserve are free. API lock held. */
int emugpu_bar1_get(struct emugpu_bar1 *bar1, const u32 *pages, u32 n);
void emugpu_bar1_put(struct emugpu_bar1 *bar1, const u32 *pages, u32 n);

u64 emugpu_bar1_used(const struct emugpu_bar1 *bar1);
u64 emugpu_bar1_reserved(const struct emugpu_bar1 *bar1);

#endif
