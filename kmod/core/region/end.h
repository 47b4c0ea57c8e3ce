/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The steps by which a region ends, and the entry points that take them.
 *
 *	entry point		cause	time for DMA	DMA that times out	pages given back by
 *	pp_revoke(), ..._until	REVOKED	drain_timeout	loses its mapping (a)	release()
 *	pp_region_withdraw_all	REVOKED	one for all	loses its mapping	release()
 *	pp_revoke_soon()	REVOKED	none		-> DEFERRED		stop_work, then work
 *	pp_region_close()	CLOSED	drain_timeout	-> ORPHAN		unpin()
 *	pp_region_work()	-	drain_timeout	the state stays		release() (b)
 *
 *	(a) because the thread holds the GPU driver's lock; where the provider maps: -> DEFERRED
 *	(b) for an ORPHAN: unpin()
 *
 * Each way down begins with pp_region_end(), which refuses new users, and continues with
 * pp_region_take_down(), in the same thread or in the work items. A close that finds no DMA and
 * no mapping needs no take-down. A mapping that an importer was promised to keep (@held) leads
 * to DEFERRED or ORPHAN too.
 * Process context, no lock of peerpin held, unless a comment says otherwise.
 */
#ifndef _PEERPIN_END_H
#define _PEERPIN_END_H

#include "region.h"

/* queue @work of @r with a reference of its own; under @lock, by a caller that has a reference */
void pp_region_queue_locked(struct peerpin_region *r, struct workqueue_struct *wq,
			    struct work_struct *work);

/* call it when @inflight or @held has fallen to 0; under @lock, any context */
void pp_region_idle_locked(struct peerpin_region *r);

/* queue r->work if the region waits for that and nothing is in flight or held; under @lock */
void pp_region_queue_if_idle_locked(struct peerpin_region *r);

/* ask drivers and importers to stop, and empty the CPU's mappings */
void pp_region_stop(struct peerpin_region *r);

/**
 * pp_region_take_down() - take the region from all that use it
 * @deadline: jiffies, for DMA and importers
 * @overrule: unmap even if DMA is still in flight then
 *
 * Stops, waits and unmaps. Mappings that an importer was promised to keep stay, counted in
 * @held; those of a provider are undone by work items, counted in @mappings.
 * Return: false: DMA was in flight at @deadline. Without @overrule nothing is unmapped then.
 */
bool pp_region_take_down(struct peerpin_region *r, unsigned long deadline, bool overrule);

/* if the pages are still ours: call release(), and destroy the region if it is an orphan */
void pp_region_release(struct peerpin_region *r);

/* free what is left, once the pages have gone and no cookie leads to the region */
void pp_region_clean(struct peerpin_region *r);

#endif
