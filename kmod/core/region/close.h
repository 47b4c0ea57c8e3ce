/* SPDX-License-Identifier: GPL-2.0 */
/* The end of a region by a close, and by work items. */
#ifndef _PEERPIN_CLOSE_H
#define _PEERPIN_CLOSE_H

struct peerpin_region;
struct work_struct;

/**
 * pp_region_close() - end a region and give its pages back
 *
 * Called once for each pp_region_pin(); drops the pin's reference. Waits at most
 * drain_timeout_ms for DMA in flight. Waits without a limit for stop() of drivers, page faults,
 * unmap() of the provider, a running @stop_work or @work, and, if several processors have begun
 * DMA, a grace period of RCU. For host memory also waits for page locks.
 * The region becomes an ORPHAN, and its pages stay pinned, in three cases:
 *	- DMA is still in flight; the pages stay until this DMA has ended
 *	- an importer's mapping is held; the pages stay until the importer unmaps
 *	- only the owner's process can unpin; the pages stay until the owner frees the memory
 * Context: process, no locks, not even mmap_lock.
 */
void pp_region_close(struct peerpin_region *r);

/*
 * To close many regions within one drain_timeout_ms, first call pp_region_close_soon() for each: no DMA
 * begins any more, and drivers and importers are asked to stop. Then call pp_region_close_until(), which
 * is pp_region_close() with a deadline in jiffies.
 * pp_region_close_soon() waits only for stop(), page faults and locks of an mm. Its caller has a reference
 * of its own, because another thread may close the region meanwhile. Several threads may call it.
 * Context of both: process, no locks, not even mmap_lock.
 */
void pp_region_close_soon(struct peerpin_region *r);
void pp_region_close_until(struct peerpin_region *r, unsigned long deadline);

/* the work functions of @stop_work and @work */
void pp_region_stop_work(struct work_struct *work);
void pp_region_work(struct work_struct *work);

#endif
