/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The count of DMA in flight. An attachment counts its DMA in @inflight, under the region's lock, until several
 * processors in turn begin DMA on the attachment. Then the count is spread: each processor counts in its own part of
 * the percpu_ref @many, without the lock. @inflight counts @many as one DMA. doc/lifetimes.md shows that the end of a
 * region misses no DMA.
 */
#ifndef _PEERPIN_INFLIGHT_H
#define _PEERPIN_INFLIGHT_H

struct peerpin_attach;
struct peerpin_region;

/*
 * Count a DMA, or @many as one DMA; under @region->lock. pp_inflight_sub() takes @region->lock, and drops the
 * reference that pp_inflight_add_locked() got.
 */
void pp_inflight_add_locked(struct peerpin_attach *a);
void pp_inflight_sub(struct peerpin_attach *a);

/* count DMA in @many from now on; under @region->lock */
void pp_inflight_spread_locked(struct peerpin_attach *a);

/*
 * Kill @many, so that no DMA begins in it any more; under @region->lock. The sum of @many is unknown until a grace
 * period of RCU has ended, and @gathering of the region counts the attachment until then. After that @inflight is 0
 * exactly if no DMA of @a is in flight.
 */
void pp_inflight_gather_locked(struct peerpin_attach *a);

/* the same for all attachments of @r */
void pp_inflight_gather_all_locked(struct peerpin_region *r);

#endif
