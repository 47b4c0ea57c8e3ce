// SPDX-License-Identifier: GPL-2.0
/* How a region ends that its user closes; and how it goes on, by work items, where nobody can wait. */
#include <linux/pid.h>
#include <linux/sched/signal.h>
#include "account.h"
#include "cookie.h"
#include "end.h"
#include "trace.h"

/*
 * Are the pages ours to unpin? Then this thread does. Lasting ones are nobody
 * else's from here on.
 */
static bool region_to_unpin_locked(struct peerpin_region *r)
{
	bool pinned = r->pinned;

	lockdep_assert_held(&r->lock);
	if (r->provider->lasting)
		r->pinned = false;
	return pinned;
}

static bool region_to_unpin(struct peerpin_region *r)
{
	bool pinned;

	spin_lock_irq(&r->lock);
	pinned = region_to_unpin_locked(r);
	spin_unlock_irq(&r->lock);
	return pinned;
}

/*
 * Does nobody else know the region, so that nobody will? True only where that
 * is certain.
 */
static bool region_is_mine(struct peerpin_region *r)
{
	if (kref_read(&r->ref) > 1)
		return false;
	/* pairs with pp_region_put() of those who did */
	smp_acquire__after_ctrl_dep();
	return true;
}

/* A callback that has found it still must not release beside cleanup. */
static void region_part(struct peerpin_region *r)
{
	spin_lock_irq(&r->lock);
	r->pinned = false;
	spin_unlock_irq(&r->lock);
	wait_event(r->idle, pp_region_is_zero(r, &r->users));
}

/*
 * By the one who is to destroy it, when no mapping is left. unpin and a
 * callback's release may run at the same time, when the callback comes between
 * the state's end and the vendor's unlinking of the pin. Both are what the
 * vendor asks for, and neither frees the other's data: @priv lives until the
 * last reference, and the callback holds one.
 */
static void region_finish(struct peerpin_region *r, bool unpin)
{
	if (unpin && r->provider->unpin)
		r->provider->unpin(r->priv);
	pp_cookie_erase(r);
	if (!region_is_mine(r))
		region_part(r);
	pp_region_clean(r);
}

/* Its user has left it to us, and nobody has taken the pages since. */
static bool region_adopt(struct peerpin_region *r)
{
	bool adopt;

	spin_lock_irq(&r->lock);
	adopt = r->orphan && r->pinned;
	if (adopt)
		r->orphan = false;
	spin_unlock_irq(&r->lock);
	return adopt;
}

static void region_give_back(struct peerpin_region *r)
{
	if (!region_adopt(r)) {
		pp_region_release(r);
		return;
	}
	region_finish(r, region_to_unpin(r));
	pp_region_put(r);
}

static bool region_end_by_work(struct peerpin_region *r)
{
	if (!pp_region_drain(r, pp_revoke_deadline()))
		return false;
	pp_region_unmap(r);
	if (pp_region_is_zero(r, &r->held))
		region_give_back(r);
	return true;
}

/*
 * This waits for nobody but drivers in stop(): however many regions whoever has
 * that keep @work waiting, all others' drivers and importers are asked in time.
 */
void pp_region_stop_work(struct work_struct *work)
{
	struct peerpin_region *r =
		container_of(work, struct peerpin_region, stop_work);

	pp_region_stop(r);
	/* of what its owner maps he goes on himself; else the reference is @work's */
	if (r->provider->map || !queue_work(pp_wq, &r->work))
		pp_region_put(r);
}

/*
 * The pages are kept meanwhile, so however long a driver takes is safe; when
 * its DMA ends at last, pp_region_idle_locked() queues this again.
 */
void pp_region_work(struct work_struct *work)
{
	struct peerpin_region *r =
		container_of(work, struct peerpin_region, work);
	unsigned int inflight = READ_ONCE(r->inflight);
	bool revoked = READ_ONCE(r->pinned) && READ_ONCE(r->state) == PP_REVOKED;
	u64 start = pp_trace_start(revoke);
	bool drained = region_end_by_work(r);

	if (revoked)
		trace_peerpin_revoke(r, true, inflight, !drained, start);
	pp_region_put(r);
}

/*
 * Leave the pages to whoever revokes them, or to the work that waits for the
 * DMA. False when they were taken just now, so that nobody would come.
 */
static bool region_abandon(struct peerpin_region *r)
{
	bool left;

	spin_lock_irq(&r->lock);
	left = r->pinned;
	r->orphan = left;
	if (left && !r->provider->unpin_by_owner) {
		r->deferred = true;
		pp_region_queue_if_idle_locked(r);
	}
	spin_unlock_irq(&r->lock);
	return left;
}

static bool region_may_unpin_here(struct peerpin_region *r)
{
	return !r->provider->unpin_by_owner || task_tgid(current) == pp_account_owner(r->account);
}

/* What the provider mapped is unmapped by work items: they are waited for. */
static bool region_let_go(struct peerpin_region *r)
{
	if (!pp_region_drain(r, pp_revoke_deadline()))
		return false;
	pp_region_unmap(r);
	wait_event(r->idle, pp_region_is_zero(r, &r->mappings));
	return pp_region_is_zero(r, &r->held) && region_may_unpin_here(r);
}

/*
 * Nobody uses it, ever did or is about to: the usual unpin. End it then; and as
 * nothing can be begun afterwards, that is still so.
 */
static bool region_end_unused(struct peerpin_region *r, bool *unpin)
{
	bool unused;

	spin_lock_irq(&r->lock);
	unused = r->state == PP_LIVE && !r->users && !r->maps &&
		 !r->cpumap && list_empty(&r->exports) &&
		 region_may_unpin_here(r);
	if (unused) {
		pp_region_end_locked(r, PP_CLOSED);
		*unpin = region_to_unpin_locked(r);
	}
	spin_unlock_irq(&r->lock);
	return unused;
}

/* In the order in which one queues the other; the caller has a reference. */
static void region_cancel_works(struct peerpin_region *r)
{
	if (cancel_work_sync(&r->stop_work))
		pp_region_put(r);
	if (cancel_work_sync(&r->work))
		pp_region_put(r);
}

static bool region_end_used(struct peerpin_region *r, bool *unpin)
{
	pp_region_end(r, PP_CLOSED);
	if (!region_let_go(r) && region_abandon(r))
		return false;
	region_cancel_works(r);
	*unpin = region_to_unpin(r);
	return true;
}

static void region_close_unused(struct peerpin_region *r, bool unpin, u64 start)
{
	region_finish(r, unpin);
	trace_peerpin_unpin(r, false, start);
	pp_region_put(r);
}

static void region_close_used(struct peerpin_region *r, u64 start)
{
	bool ended, unpin;

	pp_region_get(r);	/* an orphan may be gone at once */
	ended = region_end_used(r, &unpin);
	if (ended) {
		region_finish(r, unpin);
		pp_region_put(r);
	}
	trace_peerpin_unpin(r, !ended, start);
	pp_region_put(r);
}

void pp_region_close(struct peerpin_region *r)
{
	u64 start = pp_trace_start(unpin);
	bool unpin;

	if (region_end_unused(r, &unpin))
		region_close_unused(r, unpin, start);
	else
		region_close_used(r, start);
}
