/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A cover: pages of GPU memory filled with a pattern, to detect writes. The contents
 * are saved, and restored when the cover is deleted, which discards such writes. The
 * caller serialises access to a cover.
 */
#ifndef _EMUGPU_COVER_H
#define _EMUGPU_COVER_H

#include <linux/types.h>

#include "../include/emugpu.h"

struct emugpu_memory;

struct emugpu_cover;

/* At most so many pages */
enum { EMUGPU_COVER_MAX = (64 << 20) / EMUGPU_PAGE_SIZE };

/* NULL: no memory */
struct emugpu_cover *emugpu_cover_new(void);

/*
 * Whether other users than @npins pins may write to page @page of @memory: another
 * pin, a mapped dma-buf, or a CPU mapping. The API lock and emugpu_views_stop() keep
 * new users out. Also true if the GPU is gone: its removal takes the CPU's pages
 * away without that lock.
 */
bool emugpu_cover_is_lent(const struct emugpu_memory *memory, u32 page, u32 npins);

/* This and all below: window lock held exclusively. Restores the pages that are still accessible. */
void emugpu_cover_delete(struct emugpu_cover *cover);

/*
 * Covers page @page of @memory. Returns 0, also if it is covered already; -ENOSPC at
 * EMUGPU_COVER_MAX pages; -ENOMEM; or the error of emugpu_window_page().
 */
int emugpu_cover_page(struct emugpu_cover *cover, struct emugpu_memory *memory, u32 page);

/* -EBUSY if the window of a covered page is closed, so that the page cannot be restored */
int emugpu_cover_check(const struct emugpu_cover *cover);

/* Number of covered pages. They are numbered from 0, in the order of emugpu_cover_page(). */
u32 emugpu_cover_size(const struct emugpu_cover *cover);

/* Whether covered page @i was written to; whether it is one of the @n pages of @memory from @first on */
bool emugpu_cover_is_changed(const struct emugpu_cover *cover, u32 i);
bool emugpu_cover_is_of(const struct emugpu_cover *cover, u32 i, const struct emugpu_memory *memory, u32 first, u32 n);

#endif
