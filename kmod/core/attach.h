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
#include "../include/peerpin.h"
#include "map.h"

struct pp_region;
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
 */
struct peerpin_attach {
	struct kref ref;
	struct pp_region *region;
	struct peerpin_peer *peer;
	struct list_head in_region;
	struct list_head in_peer;
	unsigned int inflight;
	bool stopping;
	struct pp_map map;
};

/**
 * pp_attach_region() - what peerpin_attach() does once it has the region
 *
 * Context: process. Return: a reference or ERR_PTR as peerpin_attach().
 */
struct peerpin_attach *pp_attach_region(struct peerpin_peer *peer,
					struct pp_region *r);

/* ask the driver to stop, if DMA is in flight and it was not asked before */
void pp_attach_stop(struct peerpin_attach *a);

/* unlist and unmap, unless someone else does; the caller holds a reference */
void pp_attach_drop(struct peerpin_attach *a);

bool pp_attach_is_idle(struct peerpin_attach *a);

/* for region.c; process context, no lock held */
void pp_attach_stop_all(struct pp_region *r);
void pp_attach_name_busy(struct pp_region *r);
void pp_attach_drop_all(struct pp_region *r);

/* for fdinfo: device names, comma separated, or "-" */
void pp_attach_show(struct pp_region *r, struct seq_file *m);
unsigned int pp_attach_count(struct pp_region *r);

#endif
