/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Imports: what other drivers do with a dma-buf of GPU memory. Each attachment has a record of its mappings and pins,
 * because struct dma_buf_attachment has none. So a wrong call of an importer is a violation, and does no harm.
 */
#ifndef _EMUGPU_IMPORT_H
#define _EMUGPU_IMPORT_H

#include <linux/dma-direction.h>
#include <linux/types.h>

struct dma_buf;
struct dma_buf_attachment;
struct emugpu_exported;
struct seq_file;
struct sg_table;

/* Operations of dma-bufs; see struct dma_buf_ops */
int emugpu_import_attach(struct dma_buf *dmabuf, struct dma_buf_attachment *attachment);
void emugpu_import_detach(struct dma_buf *dmabuf, struct dma_buf_attachment *attachment);
int emugpu_import_pin(struct dma_buf_attachment *attachment);
void emugpu_import_unpin(struct dma_buf_attachment *attachment);
struct sg_table *emugpu_import_map(struct dma_buf_attachment *attachment, enum dma_data_direction direction);
void emugpu_import_unmap(struct dma_buf_attachment *attachment, struct sg_table *sgt,
			 enum dma_data_direction direction);

/*
 * Called when the importers of @exported are notified. Counts the notified importers. Sets @exported->blamed to the
 * importer to blame for later writes to the memory. If there is a static importer, blamed.function is NULL, and no
 * importer is to blame: a static importer is not notified, so it may continue to use the memory. Reservation lock held.
 */
void emugpu_import_blame(struct emugpu_exported *exported);

#endif
