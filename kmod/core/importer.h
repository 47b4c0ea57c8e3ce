/* SPDX-License-Identifier: GPL-2.0 */
/* An importer: somebody's attachment to an export, and what it has mapped. */
#ifndef _PEERPIN_IMPORTER_H
#define _PEERPIN_IMPORTER_H

#include <linux/dma-direction.h>
#include <linux/types.h>

struct dma_buf;
struct dma_buf_attachment;
struct pp_export;
struct pp_import;
struct seq_file;
struct sg_table;

/* the dma-buf's operations; contexts and errors are struct dma_buf_ops' */
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
 * At the region's end, under region->lock: a mapping of @e's to be undone with
 * pp_import_undo() by the caller, or NULL: none but those that are held, which
 * from now on region->held counts.
 */
struct pp_import *pp_import_take_locked(struct pp_export *e);

/* process context; whose it is may free @m when it is undone */
void pp_import_undo(struct pp_import *m);

/*
 * Has one of @e's, that would be told with the others, pinned it? Telling is for
 * what can be moved. Under @e->resv
 */
bool pp_importer_any_must_not_be_told(struct pp_export *e);

/* has @e any that can be told? under region->lock, as those below */
bool pp_importer_any_can_be_told_locked(const struct pp_export *e);

/* in the log: those that can have kept @e from being let go of in time */
void pp_importer_name_late_locked(struct pp_export *e);

/* what importers have mapped now: how much, and for which devices */
unsigned int pp_import_count_locked(const struct pp_export *e);
const char *pp_import_show_locked(const struct pp_export *e, struct seq_file *m,
				  const char *separator);

#endif
