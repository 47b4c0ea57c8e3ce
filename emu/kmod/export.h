/* SPDX-License-Identifier: GPL-2.0 */
/*
 * dma-bufs of GPU memory. They hold the memory, whatever becomes of the block
 * it was shown by: as the real driver's, they are static. With the module
 * parameter dmabuf_dynamic, those made from then on end with their block: its
 * end is told to importers by invalidate_mappings (move_notify before 7.1), and
 * nothing can be mapped after it.
 */
#ifndef _EMUGPU_EXPORT_H
#define _EMUGPU_EXPORT_H

#include <linux/list.h>
#include <linux/types.h>

struct dma_buf;
struct emugpu_export;

/* Makes a dma-buf, and reserves a file descriptor for it; see struct emugpu_export. */
struct dma_buf *emugpu_export(struct emugpu_export *export);

/* Gives it to the process, which was @told its number, or takes both back. */
void emugpu_export_finish(const struct emugpu_export *export, struct dma_buf *dmabuf, bool told);

/*
 * The end of dynamic dma-bufs, in two steps because of the lock order. The
 * first one, under the API lock, takes those of a block from its list @exports
 * to a list of the caller's and lets nobody map them any more. The second one,
 * after the API lock, tells their importers; it must follow, and empties @ended.
 */
void emugpu_export_end(struct list_head *exports, struct list_head *ended);
void emugpu_export_notify(struct list_head *ended);

#endif
