/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An export: a dma-buf of a region, for drivers that do not use peerpin's interface. Their
 * attachments to it are importers (importer.h).
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

/* whether its importers have been told that the region has ended; in this order: "<" is used */
enum pp_export_told {
	PP_EXPORT_UNTOLD,
	PP_EXPORT_TELLING,	/* a work item is queued */
	PP_EXPORT_TOLD,	/* the fences are to be waited for */
	PP_EXPORT_LATE,	/* told; some fences were not signalled in time */
	PP_EXPORT_PINNED,	/* not told, because an importer has pinned persistent memory */
	PP_EXPORT_QUIET,	/* no importer's device uses the memory */
};

/**
 * struct pp_export - see above
 * @ref: held by the dma-buf until its release, and by @work and @awaiting while they are queued
 * @resv: the reservation object of the dma-buf
 * @dmabuf: NULL before it is made and when it is released; under @resv
 * @region: a reference; the dma-buf may outlive the region's end
 * @in_region: entry in @region->exports until release; under @region->lock, as are
 *	@importers, @maps and @told
 * @importers: struct pp_importer of each attachment
 * @maps: struct pp_import, each until its importer unmaps it
 * @extents: the part of the region that the dma-buf shows; written once
 * @told: see above
 * @work: tries to lock @resv and tells the importers
 * @awaiting: waits for @resv, after @work has found it locked, and tells them
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
	PP_SHARES_MAX = 1024,	/* exports and importers of a region */
};

/**
 * pp_export() - make a dma-buf of a part of @r
 * @offset: bytes, as in struct peerpin_export
 * @length: likewise
 *
 * Context: process, no locks. Return: a dma-buf to be put, or ERR_PTR.
 */
struct dma_buf *pp_export(struct peerpin_region *r, u64 offset, u64 length);

/*
 * For end.c. The region has ended. Process context; the caller may hold the GPU driver's lock
 * and has a reference of @r.
 *
 * tell_all queues work items that tell all importers. wait_all waits until all are told and
 * their fences are signalled; at @deadline (jiffies) it names in the log the importers that have
 * not let go.
 */
void pp_export_tell_all(struct peerpin_region *r);
void pp_export_wait_all(struct peerpin_region *r, unsigned long deadline);

/*
 * Likewise, when pp_region_enter() fails and @users of @r was 0 since: undo all mappings of
 * importers but those that were promised to stay. These are counted in @held until their importers
 * unmap them.
 */
void pp_export_drop_all(struct peerpin_region *r);

/* from the module's exit: waits for delayed work, which destroy_workqueue() does not find */
void pp_export_exit(void);

/*
 * For debugfs and fdinfo, under @r->lock: the number of mappings of importers, and the names of
 * their devices, each after @separator. show returns "," if there was one.
 */
unsigned int pp_export_count_locked(struct peerpin_region *r);
const char *pp_export_show_locked(struct peerpin_region *r, struct seq_file *m,
				  const char *separator);

#endif
