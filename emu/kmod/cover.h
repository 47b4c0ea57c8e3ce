/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A cover: pages of GPU memory, filled with a pattern to detect writes and copies. The old contents are saved. Each word
 * of a pattern has a random number of the cover and the number of the page.
 * Deleting the cover restores the old contents and discards the writes. The caller serialises
 * access to a cover.
 */
#ifndef _EMUGPU_COVER_H
#define _EMUGPU_COVER_H

#include <linux/types.h>

#include "../include/emugpu.h"

struct emugpu_gpu;
struct emugpu_memory;

struct emugpu_cover;

/* MAX: maximal number of pages in a cover. STEP: distance of marks, and of the words that a search for copies looks at */
enum {
	EMUGPU_COVER_MAX = (64 << 20) / EMUGPU_PAGE_SIZE,
	EMUGPU_COVER_STEP = 512,
};

/* Returns NULL if out of memory. */
struct emugpu_cover *emugpu_cover_new(void);

/*
 * Whether page @page of @memory has more users than @npins pins: another pin, a mapped dma-buf, or
 * a CPU mapping. These users may write to the page. The API lock keeps out new pins and new
 * mappings of dma-bufs. emugpu_views_stop() keeps out new CPU mappings.
 *
 * Also returns true if the GPU is gone: gpu_remove() may have freed the p2pdma pages, which show the
 * CPU mappings.
 */
bool emugpu_cover_is_lent(const struct emugpu_memory *memory, u32 page, u32 npins);

/* Window lock held exclusively for this function and all below. Restores the pages that are still accessible. */
void emugpu_cover_delete(struct emugpu_cover *cover);

/*
 * Covers page @page of @memory. Returns 0 also if the page is covered already. Errors: -ENOSPC: the
 * cover has EMUGPU_COVER_MAX pages; -ENOMEM; the error of emugpu_window_page().
 */
int emugpu_cover_page(struct emugpu_cover *cover, struct emugpu_memory *memory, u32 page);

/*
 * The same in two steps, if the watch of many pages must begin soon: mark each page, then fill all. A mark is one word of
 * the pattern in EMUGPU_COVER_STEP bytes. Marks detect most writes, but few copies. If emugpu_cover_fill() runs out of
 * memory (-ENOMEM), the remaining pages keep only their marks.
 */
int emugpu_cover_mark(struct emugpu_cover *cover, struct emugpu_memory *memory, u32 page);
int emugpu_cover_fill(struct emugpu_cover *cover);

/* Returns -EBUSY if the window of a covered page is closed: the page cannot be restored now. */
int emugpu_cover_check(const struct emugpu_cover *cover);

/*
 * Number of covered pages. Pages are numbered from 0, in the order of the calls of emugpu_cover_page() and
 * emugpu_cover_mark().
 */
u32 emugpu_cover_size(const struct emugpu_cover *cover);

/*
 * emugpu_cover_is_changed(): whether covered page @i was written to.
 * emugpu_cover_is_of(): whether covered page @i is one of the @n pages of @memory that start at page @first.
 */
bool emugpu_cover_is_changed(const struct emugpu_cover *cover, u32 i);
bool emugpu_cover_is_of(const struct emugpu_cover *cover, u32 i, const struct emugpu_memory *memory, u32 first, u32 n);


/* Returns the number of the covered page whose pattern has @word, at any byte of the pattern, or -1. */
int emugpu_cover_source(const struct emugpu_cover *cover, u64 word);

/* Whether page @page of the VRAM of @gpu is covered */
bool emugpu_cover_has(const struct emugpu_cover *cover, const struct emugpu_gpu *gpu, u32 page);

#endif
