/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A cover: pages of GPU memory that have a pattern in place of their contents.
 * These are kept aside, so that what somebody writes there shows, and goes
 * with the cover. Its owner keeps two threads from using one.
 */
#ifndef _EMUGPU_COVER_H
#define _EMUGPU_COVER_H

#include <linux/types.h>

#include "../include/emugpu.h"

struct emugpu_memory;

struct emugpu_cover;

/* More pages than these are not covered. */
enum { EMUGPU_COVER_MAX = (64 << 20) / EMUGPU_PAGE_SIZE };

/* NULL: no memory */
struct emugpu_cover *emugpu_cover_new(void);

/*
 * Whether page number @page of @memory is lent to others than @npins pins of it:
 * by a pin, a mapped dma-buf or, page by page, to the CPU, whose owner may write
 * to it. No new one can come while the API lock is held and views are stopped. A
 * GPU that goes takes its pages for the CPU away, without that lock.
 */
bool emugpu_cover_is_lent(const struct emugpu_memory *memory, u32 page, u32 npins);

/* Window lock held exclusively, for this and all below. Puts back what can still be reached. */
void emugpu_cover_delete(struct emugpu_cover *cover);

/*
 * Covers page number @page, counted in @memory. 0, for a page that is covered
 * already too; ENOSPC: as many are as can be; ENOMEM; or as emugpu_window_page()
 */
int emugpu_cover_page(struct emugpu_cover *cover, struct emugpu_memory *memory, u32 page);

/* EBUSY: the window to a page under it is closed, so that it cannot be put back */
int emugpu_cover_check(const struct emugpu_cover *cover);

/* Pages under it are numbered from 0 in the order in which they came. */
u32 emugpu_cover_size(const struct emugpu_cover *cover);

/* Whether number @i of them was written to; and whether it is of the @n pages of @memory from @first on */
bool emugpu_cover_is_changed(const struct emugpu_cover *cover, u32 i);
bool emugpu_cover_is_of(const struct emugpu_cover *cover, u32 i, const struct emugpu_memory *memory, u32 first, u32 n);

#endif
