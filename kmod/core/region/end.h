/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The steps by which a region ends, and the entry points that take them.
 *
 *	entry point		cause	time for DMA	DMA that times out	pages given back by
 *	pp_revoke(), ..._until	REVOKED	drain_timeout	loses its mapping (a)	release()
 *	pp_region_withdraw_all	REVOKED	shared by all	loses its mapping	release()
 *	pp_revoke_soon()	REVOKED	none		-> DEFERRED		stop_work, then work
 *	pp_region_close()	CLOSED	drain_timeout	-> ORPHAN		unpin()
 *	pp_region_work()	-	drain_timeout	the state stays		release() (b)
 *
 *	(a) the thread cannot wait longer under the GPU driver's lock; provider-mapped: -> DEFERRED
 *	(b) for an ORPHAN: unpin()
 *
 * pp_region_end() comes first and refuses new users. pp_region_take_down() follows, in the same
 * thread or in the work items. A close of a region that was never mapped needs no
 * pp_region_take_down(). A mapping counted in @held leads to DEFERRED or ORPHAN too.
 * Process context, no lock of peerpin held, unless a comment says otherwise.
 */
#ifndef _PEERPIN_END_H
#define _PEERPIN_END_H

#include "region.h"

/* queue @work with a new reference on @r; the caller holds @lock and another reference */
void pp_region_queue_locked(struct peerpin_region *r, struct workqueue_struct *wq,
			    struct work_struct *work);

/* @inflight or @held has fallen to 0: wake waiters, queue r->work; under @lock, any context */
void pp_region_idle_locked(struct peerpin_region *r);

/* queue r->work if r->work must end the region, and @inflight and @held are 0; under @lock */
void pp_region_queue_if_idle_locked(struct peerpin_region *r);

/* ask drivers and importers to stop, and empty the CPU mappings */
void pp_region_stop(struct peerpin_region *r);

/**
 * pp_region_take_down() - stop all use of a region, and unmap it
 * @deadline: jiffies, for DMA and importers
 * @overrule: unmap even if DMA is still in flight at @deadline
 *
 * Stops drivers and importers, waits for them, and unmaps. Two kinds of mappings may remain:
 * importers' mappings counted in @held, and provider's mappings counted in @mappings, which work
 * items undo.
 * Return: false if DMA was in flight at @deadline; without @overrule nothing was unmapped.
 */
bool pp_region_take_down(struct peerpin_region *r, unsigned long deadline, bool overrule);

/* call release(), and free the region if it is an orphan; no effect on an ENDED region */
void pp_region_release(struct peerpin_region *r);

/* the last step, when no cookie finds @r any more: call cleanup() and free the extents */
void pp_region_clean(struct peerpin_region *r);

#endif
