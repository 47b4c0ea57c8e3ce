/* SPDX-License-Identifier: GPL-2.0 */
/* The end of a region by its user, and by work items. */
#ifndef _PEERPIN_CLOSE_H
#define _PEERPIN_CLOSE_H

struct peerpin_region;
struct work_struct;

/**
 * pp_region_close() - end a region and give its pages back
 *
 * Called once for each pp_region_pin(); drops the pin's reference. Waits for DMA in flight, at
 * most drain_timeout_ms, and without a limit for stop() and for the provider to undo mappings.
 * The pages stay pinned (ORPHAN) if DMA is in flight then, if an importer
 * was promised that they stay, or if only their owner's process can unpin them: until that has
 * ended, or until their owner revokes them.
 * Context: process, no locks.
 */
void pp_region_close(struct peerpin_region *r);

/* the work functions of @stop_work and @work */
void pp_region_stop_work(struct work_struct *work);
void pp_region_work(struct work_struct *work);

#endif
