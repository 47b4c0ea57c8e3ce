// SPDX-License-Identifier: GPL-2.0
/* The end of a region by a close, and by work items where no thread can wait. */
#include <linux/pid.h>
#include <linux/sched/signal.h>
#include "account.h"
#include "close.h"
#include "cookie.h"
#include "end.h"
#include "../node/trace.h"

/*
 * True: the caller has to call unpin(). Non-revocable memory: the region is now ENDED, so a
 * revocation (the device is unbound, or host memory is unmapped) no longer touches its pages.
 * Revocable pages may still be revoked during unpin(): the GPU driver requires that its callback
 * frees the page table, and that unpin() puts the pages.
 */
static bool region_to_unpin_locked(struct peerpin_region *r)
{
	bool unpin = r->state != PP_ENDED;

	lockdep_assert_held(&r->lock);
	if (r->provider->lasting)
		pp_region_move_locked(r, PP_ENDED);
	return unpin;
}

/*
 * True if no other thread has a reference. No other thread can get a reference either, because the cookie
 * is erased. Exception: a look-up by id (pp_table_glance()) may still get a reference. The thread of that
 * look-up gives no pages back, and begins no use of @r.
 */
static bool region_is_mine(struct peerpin_region *r)
{
	if (!pp_ref_is_one(&r->ref))
		return false;
	/* pairs with the pp_region_put() of other threads */
	smp_acquire__after_ctrl_dep();
	return true;
}

/*
 * Makes @r ENDED, so that a callback that found @r before the cookie was erased gives no pages
 * back. Then waits for a callback that already runs release().
 */
static void region_part(struct peerpin_region *r)
{
	spin_lock_irq(&r->lock);
	pp_region_move_locked(r, PP_ENDED);
	spin_unlock_irq(&r->lock);
	wait_event(r->idle, pp_region_is_zero(r, &r->users));
}

/*
 * Called once, by the thread that frees the region, when no mapping is left. Until the GPU driver
 * has unlinked the pin, its callback may run release() at the same time as unpin(). Both may use
 * @priv, which lives until the last reference is dropped: the callback holds a reference.
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

/* Become the closing thread of an orphan, so that a callback during unpin() does not free @r. */
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
 * importers are asked to stop in time, even if @work of many other regions is waiting.
 */
void pp_region_stop_work(struct work_struct *work)
{
	struct peerpin_region *r =
		container_of(work, struct peerpin_region, stop_work);

	pp_region_stop(r);
	/* provider-mapped: pp_revoke_until() ends the region; else @work gets our reference */
	if (r->provider->map || !queue_work(pp_wq, &r->work))
		pp_region_put(r);
}

/*
 * The pages stay pinned while @work waits, so a slow driver does no harm. If the wait times out,
 * the end of the last DMA queues @work again.
 */
void pp_region_work(struct work_struct *work)
{
	struct peerpin_region *r =
		container_of(work, struct peerpin_region, work);
	unsigned int inflight = data_race(r->inflight);	/* for the trace only */
	bool revoked = READ_ONCE(r->state) != PP_ENDED && r->cause == PP_REVOKED;
	u64 start = pp_trace_start(revoke);
	bool drained = pp_region_take_down(r, pp_revoke_deadline(), false);

	if (drained && pp_region_is_zero(r, &r->held))
		region_give_back(r);
	if (revoked)
		trace_peerpin_revoke(r, true, inflight, !drained, start);
	pp_region_put(r);
}

/* ---- a close ------------------------------------------------------------------- */

/* Leave the pages to @work or to a revocation. False: a revocation has already taken the pages. */
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

/* True: no mapping is left, and this process can unpin. */
static bool region_let_go(struct peerpin_region *r, unsigned long deadline)
{
	if (!pp_region_take_down(r, deadline, false))
		return false;
	wait_event(r->idle, pp_region_is_zero(r, &r->mappings));
	return pp_region_is_zero(r, &r->held) && region_may_unpin_here(r);
}

/*
 * The usual close: the region has no users and was never mapped. The check and the end share a
 * critical section, so no use can begin in between.
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

/* Cancels @stop_work first, because it queues @work. The caller has a reference of its own. */
static void region_cancel_works(struct peerpin_region *r)
{
	if (cancel_work_sync(&r->stop_work))
		pp_region_put(r);
	if (cancel_work_sync(&r->work))
		pp_region_put(r);
}

static bool region_end_used(struct peerpin_region *r, unsigned long deadline, bool *unpin)
{
	pp_region_end(r, PP_CLOSED);
	if (!region_let_go(r, deadline) && region_abandon(r))
		return false;
	region_cancel_works(r);
	spin_lock_irq(&r->lock);
	*unpin = region_to_unpin_locked(r);
	spin_unlock_irq(&r->lock);
	return true;
}

/* Only a region that was mapped or exported can make the close wait. */
void pp_region_close_soon(struct peerpin_region *r)
{
	if (!READ_ONCE(r->maps) && !READ_ONCE(r->shares))
		return;
	pp_region_end(r, PP_CLOSED);
	if (!pp_region_is_zero(r, &r->inflight) || READ_ONCE(r->shares))
		pp_region_stop(r);
}

void pp_region_close_until(struct peerpin_region *r, unsigned long deadline)
{
	u64 start = pp_trace_start(unpin);
	bool left = false, unpin = false;

	if (!region_end_unused(r, &unpin)) {
		pp_region_get(r);	/* for the trace: an orphan may be freed before */
		left = !region_end_used(r, deadline, &unpin);
		if (!left)
			pp_region_put(r);
	}
	if (!left)
		region_finish(r, unpin);
	trace_peerpin_unpin(r, left, start);
	pp_region_put(r);
}

void pp_region_close(struct peerpin_region *r)
{
	pp_region_close_until(r, pp_revoke_deadline());
}
