/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An attachment: one region mapped for one peer, found again until either
 * ends. The driver-facing half is include/peerpin.h.
 *
 * Lock order: region->lock, then peer->lock. Both are spinlocks taken with
 * interrupts off; no lock is held while mapping, unmapping or in a driver.
 */
#ifndef _PEERPIN_ATTACH_H
#define _PEERPIN_ATTACH_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/workqueue.h>
#include "../include/peerpin.h"
#include "map.h"

struct peerpin_region;
struct seq_file;

/**
 * struct peerpin_attach - see above
 * @ref: one for being listed, one for each holder, one for each DMA in flight
 * @region: held
 * @peer: held
 * @in_region: entry in @region->attaches. Listed means mapped; who unlists it
 *	unmaps it. Under @region->lock
 * @in_peer: entry in @peer->attaches, under both locks; listed there exactly
 *	when listed in the region
 * @inflight: DMA begun and not ended, under @region->lock
 * @stopping: stop() was called or is about to be, under @region->lock
 * @map: bus addresses of the whole region
 * @provided: the provider's mapping, where only the provider can make one
 * @work: undoes that, where waiting is not possible
 */
struct peerpin_attach {
	struct kref ref;
	struct peerpin_region *region;
	struct peerpin_peer *peer;
	struct list_head in_region;
	struct list_head in_peer;
	unsigned int inflight;
	bool stopping;
	struct pp_map map;
	void *provided;
	struct work_struct work;
};

/* ask the driver to stop, if DMA is in flight and it was not asked before */
void pp_attach_stop(struct peerpin_attach *a);

/*
 * Unlist and unmap, unless someone else does; the caller holds a reference. What
 * a provider mapped is unmapped soon after: region and peer count it till then.
 */
void pp_attach_drop(struct peerpin_attach *a);

bool pp_attach_is_idle(struct peerpin_attach *a);

/* for end.c; process context, no lock held */
void pp_attach_stop_all(struct peerpin_region *r);
void pp_attach_name_busy(struct peerpin_region *r);
void pp_attach_drop_all(struct peerpin_region *r);

/* for fdinfo: names of devices, those of importers too, comma separated, or "-" */
void pp_attach_show(struct peerpin_region *r, struct seq_file *m);
unsigned int pp_attach_count(struct peerpin_region *r);

/* where a region is that its owner maps, as the mapping for one of its devices says; 0: none does. Process context */
phys_addr_t pp_attach_phys(struct peerpin_region *r);

#endif
