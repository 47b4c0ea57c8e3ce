/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An export: a dma-buf of a region, for drivers that do not use peerpin's interface. The
 * attachments of such drivers to the dma-buf are importers (importer.h).
 *
 * Lock order: reservation lock, then region->lock.
 */
#ifndef _PEERPIN_EXPORT_H
#define _PEERPIN_EXPORT_H

#include <linux/dma-resv.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/workqueue.h>
#include "../region/provider.h"

struct dma_buf;
struct peerpin_region;
struct seq_file;

/* progress of invalidating the importers of an ended region. export_name_late() logs those before PINNED. */
enum pp_export_told {
	PP_EXPORT_UNTOLD,
	PP_EXPORT_TELLING,	/* a work item is queued */
	PP_EXPORT_TOLD,	/* notified; a thread waits for the importers' fences and, since Linux 7.1, unmaps */
	PP_EXPORT_LATE,	/* notified; at the deadline a fence was not signalled or a mapping was not undone */
	PP_EXPORT_PINNED,	/* memory that an importer has pinned (then none is notified), or that only static importers map */
	PP_EXPORT_QUIET,	/* no importer's device uses the memory */
};

/**
 * struct pp_export - a dma-buf of a region
 * @ref: references of the dma-buf until its release, and of @work and @awaiting while queued
 * @resv: the reservation object of the dma-buf
 * @dmabuf: the dma-buf; NULL before its creation and after its release; under @resv
 * @region: a reference; the dma-buf may outlive the region's end
 * @in_region: entry in @region->exports until the dma-buf's release; under @region->lock, as
 *	are @importers, @maps and @told
 * @importers: list of struct pp_importer, one for each attachment
 * @maps: list of struct pp_import; a mapping stays until its importer unmaps
 * @extents: the part of the region that the dma-buf shows; written once
 * @told: progress of invalidating the importers
 * @work: work item that notifies the importers, if it gets @resv without waiting
 * @awaiting: work item that @work queues if @resv is locked: waits for the lock, then notifies
 *	the importers
 * @awaited: @awaiting was queued; used by @work only
 */
struct pp_export {
	struct kref ref;
	struct dma_resv resv;
	struct dma_buf *dmabuf;
	struct peerpin_region *region;
	struct list_head in_region;
	struct list_head importers;
	struct list_head maps;
	struct pp_extents extents;
	enum pp_export_told told;
	struct delayed_work work;
	struct work_struct awaiting;
	bool awaited;
};

enum {
	PP_SHARES_MAX = 1024,	/* limit of @shares of a region: exports and importers */
};

/**
 * pp_export() - make a dma-buf of a part of @r
 * @offset: start of the part: bytes from the start of the region
 * @length: bytes of the part
 *
 * Context: process, no locks. Return: a dma-buf to be put, or ERR_PTR: -EOPNOTSUPP a region of
 * a dma-buf, or of a provider without extents; -EINVAL not whole pages of the region; -ESTALE the region has
 * ended; -EDQUOT PP_SHARES_MAX is reached; -EIO the provider's pages do not cover the part; -ENOMEM; or an
 * error of dma_buf_export().
 */
struct dma_buf *pp_export(struct peerpin_region *r, u64 offset, u64 length);

/*
 * For end.c. The region has ended. Process context; the caller may hold the GPU driver's lock
 * and has a reference of @r.
 *
 * pp_export_tell_all() queues work items that notify all importers. pp_export_wait_all() waits
 * until all importers with invalidate_mappings() were notified, the fences of dma-bufs that these
 * map are signalled, and revocable importers have unmapped. At @deadline (jiffies) the wait ends,
 * and the log names the importers that may still use the memory.
 */
void pp_export_tell_all(struct peerpin_region *r);
void pp_export_wait_all(struct peerpin_region *r, unsigned long deadline);

/*
 * Undo the importers' mappings. Mappings that must stay (see importer.c) are counted in @held
 * until their importers unmap. The caller has waited until @users of @r was 0 after the
 * region's end. Context as of pp_export_wait_all().
 */
void pp_export_drop_all(struct peerpin_region *r);

/* for the module's exit: wait for delayed work items, which destroy_workqueue() does not find */
void pp_export_exit(void);

/*
 * For debugfs and fdinfo, under @r->lock. pp_export_count_locked() returns the number of
 * importers' mappings. pp_export_show_locked() prints the names of the importers' devices, each
 * after @separator, and returns the separator for the next name.
 */
unsigned int pp_export_count_locked(struct peerpin_region *r);
const char *pp_export_show_locked(struct peerpin_region *r, struct seq_file *m,
				  const char *separator);

#endif
