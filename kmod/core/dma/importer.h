/* SPDX-License-Identifier: GPL-2.0 */
/* An importer: an attachment of another driver to an export, and its mappings. */
#ifndef _PEERPIN_IMPORTER_H
#define _PEERPIN_IMPORTER_H

#include <linux/dma-direction.h>
#include <linux/types.h>

struct dma_buf;
struct dma_buf_attachment;
struct pp_export;
struct pp_import;
struct pp_late;
struct seq_file;
struct sg_table;

/* the dma-buf's operations; contexts and errors as in struct dma_buf_ops */
int pp_importer_attach(struct dma_buf *dmabuf,
		       struct dma_buf_attachment *attachment);
void pp_importer_detach(struct dma_buf *dmabuf,
			struct dma_buf_attachment *attachment);
int pp_importer_pin(struct dma_buf_attachment *attachment);
void pp_importer_unpin(struct dma_buf_attachment *attachment);
struct sg_table *pp_importer_map(struct dma_buf_attachment *attachment,
				 enum dma_data_direction dir);
void pp_importer_unmap(struct dma_buf_attachment *attachment,
		       struct sg_table *sgt, enum dma_data_direction dir);

/*
 * For the region's end, under region->lock. Returns a mapping of @e, which the caller must undo
 * with pp_import_undo(). Mappings that must stay are counted in region->held. NULL: no mapping is
 * left for this thread to undo.
 */
struct pp_import *pp_import_take_locked(struct pp_export *e);

/* undo @m; process context; the importer may free @m once @m is undone */
void pp_import_undo(struct pp_import *m);

/*
 * Returns true if a dynamic importer has pinned @e and is not revocable (before Linux 7.1). Then no importer of @e may
 * be notified, because dma_buf_invalidate_mappings() cannot leave out that importer. The caller holds @e->resv.
 */
bool pp_importer_any_must_not_be_told(struct pp_export *e);

/* has @e an importer with invalidate_mappings()? Under region->lock, as all functions below */
bool pp_importer_any_can_be_told_locked(const struct pp_export *e);

/* has such an importer a mapping? */
bool pp_importer_any_told_maps_locked(const struct pp_export *e);

/* is a mapping left that its revocable importer must undo after a notification? */
bool pp_importer_any_must_unmap_locked(const struct pp_export *e);

/* note the devices of importers that may still use the memory of @e at the deadline */
void pp_importer_note_late_locked(const struct pp_export *e, struct pp_late *late);

/* return the number of mappings of @e; print the names of the mapped devices */
unsigned int pp_import_count_locked(const struct pp_export *e);
const char *pp_import_show_locked(const struct pp_export *e, struct seq_file *m,
				  const char *separator);

#endif
