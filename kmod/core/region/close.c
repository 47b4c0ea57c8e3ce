// SPDX-License-Identifier: GPL-2.0
/* How the user of a region ends it, and how work items go on where no thread can wait. */
#include <linux/pid.h>
#include <linux/sched/signal.h>
#include "account.h"
#include "close.h"
#include "cookie.h"
#include "end.h"
#include "../node/trace.h"

/*
 * True: this thread has to call unpin(). From here on no revocation touches lasting pages.
 * Other pages stay revocable during unpin(): the callback and unpin() may run at the same time.
 * The GPU driver requires a free of the page table in the callback, and a put in unpin().
 */
static bool region_to_unpin_locked(struct peerpin_region *r)
{
	bool unpin = r->state != PP_ENDED;

	lockdep_assert_held(&r->lock);
	if (r->provider->lasting)
		pp_region_move_locked(r, PP_ENDED);
	return unpin;
}

/* True only if no other thread has a reference, so that none can get one. */
static bool region_is_mine(struct peerpin_region *r)
{
	if (kref_read(&r->ref) > 1)
		return false;
	/* pairs with the pp_region_put() of other threads */
	smp_acquire__after_ctrl_dep();
	return true;
}

/* A callback that found the region before its cookie was erased must not release the pages now. */
static void region_part(struct peerpin_region *r)
{
	spin_lock_irq(&r->lock);
	pp_region_move_locked(r, PP_ENDED);
	spin_unlock_irq(&r->lock);
	wait_event(r->idle, pp_region_is_zero(r, &r->users));
}

/*
 * Called once, by the thread that destroys the region, when no mapping is left. A callback's
 * release() may run at the same time as unpin(), if it comes before the GPU driver unlinks the
 * pin. Neither frees data of the other: @priv lives until the last reference, and the callback
 * holds one.
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

/* ---- work items ---------------------------------------------------------------- */

/* Become the closer of an orphan, so that a callback inside unpin() does not destroy it. */
static bool region_adopt(struct peerpin_region *r)
{
	bool adopt;

	spin_lock_irq(&r->lock);
	adopt = r->state == PP_ORPHAN;
	if (adopt) {
		pp_region_move_locked(r, PP_ENDING);
		region_to_unpin_locked(r);
	}
	spin_unlock_irq(&r->lock);
	return adopt;
}

static void region_give_back(struct peerpin_region *r)
{
	if (!region_adopt(r)) {
		pp_region_release(r);
		return;
	}
	region_finish(r, true);
	pp_region_put(r);
}

/*
 * Waits for stop() of drivers, page faults and locks of an mm, never for DMA. So drivers and
 * importers of other regions are asked in time, however many regions keep @work waiting.
 */
void pp_region_stop_work(struct work_struct *work)
{
	struct peerpin_region *r =
		container_of(work, struct peerpin_region, stop_work);

	pp_region_stop(r);
	/* pp_revoke_until() follows where the provider maps; else our reference passes to @work */
	if (r->provider->map || !queue_work(pp_wq, &r->work))
		pp_region_put(r);
}

/*
 * The pages stay pinned meanwhile, so a driver may take as long as it likes. If this times out,
 * the end of the last DMA queues it again.
 */
void pp_region_work(struct work_struct *work)
{
	struct peerpin_region *r =
		container_of(work, struct peerpin_region, work);
	unsigned int inflight = READ_ONCE(r->inflight);
	bool revoked = READ_ONCE(r->state) != PP_ENDED && r->cause == PP_REVOKED;
	u64 start = pp_trace_start(revoke);
	bool drained = pp_region_take_down(r, pp_revoke_deadline(), false);

	if (drained && pp_region_is_zero(r, &r->held))
		region_give_back(r);
	if (revoked)
		trace_peerpin_revoke(r, true, inflight, !drained, start);
	pp_region_put(r);
}

/* ---- the user ------------------------------------------------------------------ */

/* Leave the pages to @work or to their owner. False: a revocation has taken them just now. */
static bool region_abandon(struct peerpin_region *r)
{
	bool left;

	spin_lock_irq(&r->lock);
	left = r->state != PP_ENDED;
	if (left) {
		pp_region_move_locked(r, PP_ORPHAN);
		pp_region_queue_if_idle_locked(r);
	}
	spin_unlock_irq(&r->lock);
	return left;
}

static bool region_may_unpin_here(struct peerpin_region *r)
{
	return !r->provider->unpin_by_owner || task_tgid(current) == pp_account_owner(r->account);
}

/* True: nothing is mapped any more, and this process can unpin. */
static bool region_let_go(struct peerpin_region *r)
{
	if (!pp_region_take_down(r, pp_revoke_deadline(), false))
		return false;
	wait_event(r->idle, pp_region_is_zero(r, &r->mappings));
	return pp_region_is_zero(r, &r->held) && region_may_unpin_here(r);
}

/*
 * The usual unpin: no thread uses the region, and none ever mapped it. End it in the critical
 * section that sees this; nothing can begin afterwards.
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
	spin_lock_irq(&r->lock);
	*unpin = region_to_unpin_locked(r);
	spin_unlock_irq(&r->lock);
	return true;
}

void pp_region_close(struct peerpin_region *r)
{
	u64 start = pp_trace_start(unpin);
	bool left = false, unpin = false;

	if (!region_end_unused(r, &unpin)) {
		pp_region_get(r);	/* an orphan may be freed before it is traced */
		left = !region_end_used(r, &unpin);
		if (!left)
			pp_region_put(r);
	}
	if (!left)
		region_finish(r, unpin);
	trace_peerpin_unpin(r, left, start);
	pp_region_put(r);
}
