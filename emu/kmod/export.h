/* SPDX-License-Identifier: GPL-2.0 */
/*
 * dma-bufs of GPU memory. Each dma-buf holds a reference to its memory.
 *
 * By default dma-bufs are static, as in NVIDIA's driver: the memory stays after its block was
 * freed. With the module parameter dmabuf_dynamic, freeing a block revokes its dma-bufs. Importers
 * then get invalidate_mappings (move_notify before kernel 7.1), and new mappings fail.
 */
#ifndef _EMUGPU_EXPORT_H
#define _EMUGPU_EXPORT_H

#include <linux/list.h>
#include <linux/types.h>

struct dma_buf;
struct emugpu_export;
struct seq_file;

/* Makes a dma-buf and reserves a file descriptor for the dma-buf; see struct emugpu_export. */
struct dma_buf *emugpu_export(struct emugpu_export *export);

/*
 * @told: whether the process got the number of the file descriptor. If true, installs the file
 * descriptor. If false, drops the dma-buf and the number.
 */
void emugpu_export_finish(const struct emugpu_export *export, struct dma_buf *dmabuf, bool told);

/*
 * Revokes dynamic dma-bufs, in two steps because of the lock order.
 * emugpu_export_end(), under the API lock, moves the dma-bufs of a block from
 * @exports to @ended and stops new mappings. emugpu_export_notify() must follow
 * without the API lock, notifies the importers and empties @ended.
 */
void emugpu_export_end(struct list_head *exports, struct list_head *ended);
void emugpu_export_notify(struct list_head *ended);

/*
 * Attachments of all dma-bufs.
 * emugpu_imports_count(): number of mappings; API lock held.
 * emugpu_imports_notified(): number of notifications of dynamic importers since the module was loaded.
 * emugpu_imports_show() writes a line for each attachment, as emugpu_pin_show() does for a pin.
 */
u32 emugpu_imports_count(void);
u32 emugpu_imports_notified(void);
void emugpu_imports_show(struct seq_file *seq);

#endif
