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

struct emugpu_client;
struct emugpu_export;

/* Makes a dma-buf and its file descriptor; see struct emugpu_export. */
int emugpu_export(struct emugpu_client *client, struct emugpu_export *export);

/*
 * The end of dynamic dma-bufs, in two steps because of the lock order. The
 * first one, under the API lock, takes those of a block from its list @exports
 * to a list of the caller's and lets nobody map them any more. The second one,
 * after the API lock, tells their importers; it must follow, and empties @ended.
 */
void emugpu_export_end(struct list_head *exports, struct list_head *ended);
void emugpu_export_notify(struct list_head *ended);

#endif
