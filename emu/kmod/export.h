/* SPDX-License-Identifier: GPL-2.0 */
/*
 * dma-bufs of GPU memory. They hold a reference to the memory, even after its block
 * was freed: like those of NVIDIA's driver, they are static. With the module
 * parameter dmabuf_dynamic, new dma-bufs are revoked when their block is freed:
 * importers get invalidate_mappings (move_notify before 7.1), and no new mapping is
 * possible.
 */
#ifndef _EMUGPU_EXPORT_H
#define _EMUGPU_EXPORT_H

#include <linux/list.h>
#include <linux/types.h>

struct dma_buf;
struct emugpu_export;

/* Makes a dma-buf, and reserves a file descriptor for it; see struct emugpu_export. */
struct dma_buf *emugpu_export(struct emugpu_export *export);

/* @told: the process got the number, so install the file descriptor; else drop the dma-buf and the number. */
void emugpu_export_finish(const struct emugpu_export *export, struct dma_buf *dmabuf, bool told);

/*
 * Revokes dynamic dma-bufs, in two steps because of the lock order.
 * emugpu_export_end(), under the API lock, moves the dma-bufs of a block from
 * @exports to @ended and stops new mappings. emugpu_export_notify() must follow,
 * without the API lock: it notifies the importers and empties @ended.
 */
void emugpu_export_end(struct list_head *exports, struct list_head *ended);
void emugpu_export_notify(struct list_head *ended);

#endif
