/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The count of DMA in flight. It is one number, under the lock of the region. When processors take turns
 * at an attachment, the count of the attachment is spread: each processor counts alone, in a percpu_ref.
 * doc/lifetimes.md has the argument.
 */
#ifndef _PEERPIN_INFLIGHT_H
#define _PEERPIN_INFLIGHT_H

struct peerpin_attach;
struct peerpin_region;

/* count a DMA, or all DMA of @many; under @region->lock. pp_inflight_sub() drops a reference */
void pp_inflight_add_locked(struct peerpin_attach *a);
void pp_inflight_sub(struct peerpin_attach *a);

/* count DMA in @many from now on; under @region->lock */
void pp_inflight_spread_locked(struct peerpin_attach *a);

/*
 * From now on no DMA of @a begins in @many, and a grace period of RCU later @inflight is exact. Until then
 * @gathering of the region counts the attachment. Under @region->lock
 */
void pp_inflight_gather_locked(struct peerpin_attach *a);

/*
 * The same for all attachments of @r. The second function does this early, so that the grace periods of many
 * regions that are to end overlap.
 */
void pp_inflight_gather_all_locked(struct peerpin_region *r);
void pp_inflight_gather_all(struct peerpin_region *r);

#endif
