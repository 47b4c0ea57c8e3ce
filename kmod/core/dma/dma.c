// SPDX-License-Identifier: GPL-2.0
/* Begin and end of DMA. The end of a region waits for DMA in flight. */
#include <linux/dma-mapping.h>
#include <linux/export.h>
#include "attach.h"
#include "inflight.h"
#include "peer.h"
#include "../region/region.h"
#include "../node/trace.h"

/*
 * DMA begins only if the region is live and the attachment is listed. The same critical
 * section raises the counts for which the region's end and the peer's unregistration wait.
 */
static int dma_enter_locked(struct peerpin_attach *a)
{
	struct peerpin_region *r = a->region;

	lockdep_assert_held(&r->lock);
	if (r->state != PP_LIVE)
		return -ESTALE;
	if (!a->listed || READ_ONCE(a->peer->dying))
		return -ENODEV;
	pp_inflight_add_locked(a);
	if (pp_turns_are_many(&a->turns))
		pp_inflight_spread_locked(a);
	return 0;
}

/* Writes no cache line of another processor. Fails if the region has ended, or its peer ends. */
static bool dma_enter_many(struct peerpin_attach *a)
{
	/* pairs with pp_inflight_spread_locked() */
	return smp_load_acquire(&a->spread) && percpu_ref_tryget_live(&a->many);
}

static int dma_enter(struct peerpin_attach *a, struct peerpin_dma *dma)
{
	unsigned long flags;
	int ret;

	dma->many = dma_enter_many(a);
	if (dma->many)
		return 0;
	spin_lock_irqsave(&a->region->lock, flags);
	ret = dma_enter_locked(a);
	spin_unlock_irqrestore(&a->region->lock, flags);
	return ret;
}

static void dma_leave(struct peerpin_attach *a, bool many)
{
	if (many)
		percpu_ref_put(&a->many);
	else
		pp_inflight_sub(a);
}

/*
 * True: the caller is a user now, so the mapping stays for the synchronisation. False: a
 * revocation has removed the mapping, because this DMA has exceeded drain_timeout_ms.
 */
static bool dma_keep_map(struct peerpin_attach *a)
{
	unsigned long flags;
	bool there;

	spin_lock_irqsave(&a->region->lock, flags);
	there = a->listed && !a->region->unmapping;
	a->region->users += there;
	spin_unlock_irqrestore(&a->region->lock, flags);
	return there;
}

static void dma_sync(const struct peerpin_dma *dma,
		     void (*sync)(struct pp_map *map, u64 offset, u64 length))
{
	struct peerpin_attach *a = dma->attach;

	if (!dma_keep_map(a))
		return;
	sync(&a->map, dma->offset, dma->length);
	pp_region_leave(a->region);
}

int peerpin_dma_begin(struct peerpin_attach *attach, u64 offset, u64 length,
		      enum dma_data_direction dir, struct peerpin_dma *dma)
{
	u64 start = pp_trace_start(dma_begin);
	u64 size = attach->region->length;
	int ret;

	if (!length || offset > size || length > size - offset)
		return -EINVAL;
	ret = dma_enter(attach, dma);
	if (ret)
		return ret;
	pp_peer_count_begun(attach->peer);
	dma->attach = attach;
	dma->offset = offset;
	dma->length = length;
	dma->dir = dir;
	dma->left = length;
	dma->sg = pp_map_seek(&attach->map, offset, &dma->sg_done);
	if (attach->map.bounced)
		dma_sync(dma, pp_map_sync_for_device);
	trace_peerpin_dma_begin(dma, start);
	dma->since = pp_trace_start(dma_end);
	return 0;
}
EXPORT_SYMBOL_GPL(peerpin_dma_begin);

u32 peerpin_dma_next(struct peerpin_dma *dma, u32 max, dma_addr_t *bus)
{
	u32 len = min_t(u64, dma->left, max);

	if (!len)
		return 0;
	*bus = sg_dma_address(dma->sg) + dma->sg_done;
	len = min(len, sg_dma_len(dma->sg) - dma->sg_done);
	len = pp_map_to_boundary(&dma->attach->map, *bus, len);
	dma->left -= len;
	dma->sg_done += len;
	if (dma->sg_done == sg_dma_len(dma->sg)) {
		dma->sg = sg_next(dma->sg);
		dma->sg_done = 0;
	}
	return len;
}
EXPORT_SYMBOL_GPL(peerpin_dma_next);

/* A driver that works piece by piece may call this while its interrupt handler ends the DMA. */
bool peerpin_dma_stale(const struct peerpin_dma *dma)
{
	const struct peerpin_attach *a = READ_ONCE(dma->attach);

	return !a || !pp_region_is_live(a->region) ||
	       READ_ONCE(a->peer->dying);
}
EXPORT_SYMBOL_GPL(peerpin_dma_stale);

void peerpin_dma_end(struct peerpin_dma *dma)
{
	struct peerpin_attach *a = dma->attach;

	if (WARN_ONCE(!a, "peerpin_dma_end() called twice\n"))
		return;
	if (a->map.bounced && dma->dir != DMA_TO_DEVICE)
		dma_sync(dma, pp_map_sync_for_cpu);
	trace_peerpin_dma_end(dma, dma->since);
	pp_peer_count_ended(a->peer, dma->length);
	WRITE_ONCE(dma->attach, NULL);
	dma->left = 0;
	dma_leave(a, dma->many);
}
EXPORT_SYMBOL_GPL(peerpin_dma_end);
