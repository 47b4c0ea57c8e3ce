/* SPDX-License-Identifier: GPL-2.0 */
/*
 * end: the steps by which a region ends, for revoke.c and close.c. Its state
 * has ended before the first of them. Process context and no lock held but
 * where it says so.
 */
#ifndef _PEERPIN_END_H
#define _PEERPIN_END_H

#include "region.h"

/* @work of @r is to be done by @wq, with a reference of its own; under @lock, by one who has a reference */
void pp_region_queue_locked(struct peerpin_region *r, struct workqueue_struct *wq, struct work_struct *work);

/* if @deferred, and neither DMA nor a held mapping is left: the work that ends it; under @lock */
void pp_region_queue_if_idle_locked(struct peerpin_region *r);

/* all who use it are asked to let go, and the CPU's views are emptied */
void pp_region_stop(struct peerpin_region *r);

/* after pp_region_stop(): are they done? False when a driver has DMA in flight at @deadline (jiffies) */
bool pp_region_await(struct peerpin_region *r, unsigned long deadline);

/* both */
bool pp_region_drain(struct peerpin_region *r, unsigned long deadline);

/* all mappings go, but those that a provider or an importer has to undo himself */
void pp_region_unmap(struct peerpin_region *r);

/* when it is unmapped: the pages go back, if they are still ours, and an orphan with them */
void pp_region_release(struct peerpin_region *r);

/* when its pages are gone and no cookie names it: what is left goes */
void pp_region_clean(struct peerpin_region *r);

#endif
