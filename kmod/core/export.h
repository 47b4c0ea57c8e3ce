/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An export: a dma-buf of a region, for drivers that know nothing of peerpin.
 *
 * Lock order: reservation lock, then region->lock.
 */
#ifndef _PEERPIN_EXPORT_H
#define _PEERPIN_EXPORT_H

#include <linux/dma-resv.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/workqueue.h>
#include "provider.h"

struct dma_buf;
struct peerpin_region;
struct seq_file;

enum pp_export_told {
	PP_EXPORT_UNTOLD,
	PP_EXPORT_TELLING,
	PP_EXPORT_TOLD,	/* its fences are to be waited for */
	PP_EXPORT_LATE,	/* told; some of its fences were not signalled in time */
	PP_EXPORT_PINNED,	/* not told: an importer has been promised that it stays */
	PP_EXPORT_QUIET,	/* told, and no importer's device uses it */
};

/**
 * struct pp_export - see above
 * @ref: the dma-buf, until its release, and @work and @awaiting, while they are queued, hold one
 * @resv: of the dma-buf
 * @dmabuf: NULL before it is made and when it is released; under @resv's lock
 * @region: held; a dma-buf may be there long after its end
 * @in_region: in @region->exports until release; under @region->lock, as are
 *	@importers, @maps and @told
 * @importers: struct pp_importer, each attachment
 * @maps: struct pp_import, each until its importer unmaps it
 * @extents: the part of the region that it shows; written once
 * @told: enum pp_export_told
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
	PP_SHARES_MAX = 1024,	/* of a region: exports, and their importers */
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
 * Have all importers told to let go, by work items. The state has ended. Process
 * context; the caller may hold the GPU driver's lock.
 */
void pp_export_tell_all(struct peerpin_region *r);

/* at the end of the module: until all are told that were to be, for a delayed work is nobody's to wait for */
void pp_export_exit(void);

/*
 * Wait until all are told and their fences signalled; at @deadline (jiffies) those
 * that have not let go are named. Likewise; the caller holds @r.
 */
void pp_export_wait_all(struct peerpin_region *r, unsigned long deadline);

/*
 * Undo all mappings of importers but those that are held; likewise, when nobody
 * is a user. For these @r->held stays above 0 until the importers have unmapped
 * them.
 */
void pp_export_drop_all(struct peerpin_region *r);

/*
 * What importers have mapped now: how much, and for which devices, each after
 * @separator; returns "," if there was one. Under @r->lock.
 */
unsigned int pp_export_count_locked(struct peerpin_region *r);
const char *pp_export_show_locked(struct peerpin_region *r, struct seq_file *m,
				  const char *separator);

#endif
