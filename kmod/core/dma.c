// SPDX-License-Identifier: GPL-2.0
/* A transfer in flight: what keeps memory from being taken away. */
#include <linux/dma-mapping.h>
#include <linux/export.h>
#include "attach.h"
#include "peer.h"
#include "region.h"

/*
 * The whole guarantee: DMA begins only while the region is live and the
 * attachment listed, in one critical section with the count that quiescing
 * (region) and unregistering (peer) wait for.
 */
static int dma_enter(struct peerpin_attach *a)
{
	struct pp_region *r = a->region;
	unsigned long flags;
	int ret = 0;

	spin_lock_irqsave(&r->lock, flags);
	if (r->state != PP_LIVE) {
		ret = -ESTALE;
	} else if (list_empty(&a->in_region) || READ_ONCE(a->peer->dying)) {
		ret = -ENODEV;
	} else {
		kref_get(&a->ref);
		a->inflight++;
		r->inflight++;
	}
	spin_unlock_irqrestore(&r->lock, flags);
	return ret;
}

static void dma_leave(struct peerpin_attach *a)
{
	struct pp_region *r = a->region;
	unsigned long flags;

	spin_lock_irqsave(&r->lock, flags);
	if (!--a->inflight)
		wake_up_all(&a->peer->idle);
	if (!--r->inflight)
		wake_up_all(&r->idle);
	spin_unlock_irqrestore(&r->lock, flags);
	peerpin_attach_put(a);
}

/*
 * The device's view must be brought up to date while the map exists. It does,
 * unless this DMA overstayed and the map was dropped under it.
 */
static void dma_sync_end(struct peerpin_dma *dma)
{
	struct peerpin_attach *a = dma->attach;
	struct pp_region *r = a->region;
	unsigned long flags;
	bool listed;

	spin_lock_irqsave(&r->lock, flags);
	listed = !list_empty(&a->in_region);
	r->users += listed;
	spin_unlock_irqrestore(&r->lock, flags);
	if (!listed)
		return;
	pp_map_sync_for_cpu(&a->map, dma->offset, dma->length);
	pp_region_leave(r);
}

int peerpin_dma_begin(struct peerpin_attach *attach, u64 offset, u64 length,
		      enum dma_data_direction dir, struct peerpin_dma *dma)
{
	u64 size = attach->region->length;
	int ret;

	if (!length || offset > size || length > size - offset)
		return -EINVAL;
	ret = dma_enter(attach);
	if (ret)
		return ret;
	dma->attach = attach;
	dma->offset = offset;
	dma->length = length;
	dma->dir = dir;
	dma->left = length;
	dma->sg = pp_map_seek(&attach->map, offset, &dma->sg_done);
	if (attach->map.bounced)
		pp_map_sync_for_device(&attach->map, offset, length);
	return 0;
}
EXPORT_SYMBOL_GPL(peerpin_dma_begin);

/* Bytes from @bus to the next multiple of the device's segment boundary */
static u64 dma_to_boundary(struct device *dev, dma_addr_t bus)
{
	unsigned long mask = dma_get_seg_boundary(dev);

	return (u64)mask - (bus & mask) + 1;
}

u32 peerpin_dma_next(struct peerpin_dma *dma, u32 max, dma_addr_t *bus)
{
	u64 len = min_t(u64, dma->left, max);
	u64 boundary;

	if (!len)
		return 0;
	*bus = sg_dma_address(dma->sg) + dma->sg_done;
	len = min_t(u64, len, sg_dma_len(dma->sg) - dma->sg_done);
	boundary = dma_to_boundary(dma->attach->map.dev, *bus);
	if (boundary)	/* 0: the mask is all ones, there is none */
		len = min(len, boundary);
	dma->left -= len;
	dma->sg_done += len;
	if (dma->sg_done == sg_dma_len(dma->sg)) {
		dma->sg = sg_next(dma->sg);
		dma->sg_done = 0;
	}
	return len;
}
EXPORT_SYMBOL_GPL(peerpin_dma_next);

bool peerpin_dma_stale(const struct peerpin_dma *dma)
{
	return !pp_region_is_live(dma->attach->region) ||
	       READ_ONCE(dma->attach->peer->dying);
}
EXPORT_SYMBOL_GPL(peerpin_dma_stale);

void peerpin_dma_end(struct peerpin_dma *dma)
{
	if (dma->attach->map.bounced && dma->dir != DMA_TO_DEVICE)
		dma_sync_end(dma);
	dma_leave(dma->attach);
}
EXPORT_SYMBOL_GPL(peerpin_dma_end);
