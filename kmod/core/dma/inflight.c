// SPDX-License-Identifier: GPL-2.0
#include "attach.h"
#include "../region/end.h"
#include "inflight.h"
#include "peer.h"
#include "../region/region.h"

void pp_inflight_add_locked(struct peerpin_attach *a)
{
	lockdep_assert_held(&a->region->lock);
	pp_ref_get(&a->ref);
	a->inflight++;
	a->region->inflight++;
}

/*
 * Called when @a->inflight has fallen to 0. peerpin_peer_unregister() waits for a listed attachment until its @inflight
 * is 0, but does not find an unlisted attachment. It waits for unlisted attachments until @strays, their number, is 0.
 */
static void inflight_idle_locked(struct peerpin_attach *a)
{
	struct peerpin_peer *peer = a->peer;

	lockdep_assert_held(&a->region->lock);
	if (a->listed && !READ_ONCE(peer->dying))
		return;
	spin_lock(&peer->lock);
	peer->strays -= !a->listed;
	wake_up_all(&peer->idle);
	spin_unlock(&peer->lock);
}

/* Wakes no thread while the region is live and the peer is registered, because no thread waits for DMA then. */
void pp_inflight_sub(struct peerpin_attach *a)
{
	struct peerpin_region *r = a->region;
	unsigned long flags;

	spin_lock_irqsave(&r->lock, flags);
	if (!--a->inflight)
		inflight_idle_locked(a);
	if (!--r->inflight && r->state > PP_LIVE)
		pp_region_idle_locked(r);
	spin_unlock_irqrestore(&r->lock, flags);
	peerpin_attach_put(a);
}

/*
 * Called when the last DMA counted in @many has ended, after @many was killed. Context: the end of that DMA, possibly
 * in an interrupt, or the RCU callback at the end of the grace period.
 */
static void inflight_many_ended(struct percpu_ref *many)
{
	struct peerpin_attach *a = container_of(many, struct peerpin_attach, many);

	percpu_ref_exit(many);
	pp_inflight_sub(a);
}

/* If the allocation fails, a later DMA calls this function again. */
void pp_inflight_spread_locked(struct peerpin_attach *a)
{
	lockdep_assert_held(&a->region->lock);
	if (a->spread || percpu_ref_init(&a->many, inflight_many_ended, 0, PP_SPREAD_GFP))
		return;
	pp_inflight_add_locked(a);
	WRITE_ONCE(a->region->spread, true);
	smp_store_release(&a->spread, true);	/* pairs with dma_enter_many() */
}

static void inflight_many_gathered(struct percpu_ref *many)
{
	struct peerpin_attach *a = container_of(many, struct peerpin_attach, many);
	struct peerpin_region *r = a->region;
	unsigned long flags;

	spin_lock_irqsave(&r->lock, flags);
	if (!--r->gathering)
		wake_up_all(&r->idle);
	spin_unlock_irqrestore(&r->lock, flags);
}

void pp_inflight_gather_locked(struct peerpin_attach *a)
{
	lockdep_assert_held(&a->region->lock);
	if (!a->spread || percpu_ref_is_dying(&a->many))
		return;
	a->region->gathering++;
	percpu_ref_kill_and_confirm(&a->many, inflight_many_gathered);
}

void pp_inflight_gather_all_locked(struct peerpin_region *r)
{
	struct peerpin_attach *a;

	list_for_each_entry(a, &r->attaches, in_region)
		pp_inflight_gather_locked(a);
}
