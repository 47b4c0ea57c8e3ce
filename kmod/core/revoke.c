// SPDX-License-Identifier: GPL-2.0
/* How a region ends: revoked by the owner of its memory, or closed. */
#include <linux/export.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/pid.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/srcu.h>
#include "account.h"
#include "attach.h"
#include "cookie.h"
#include "cpumap.h"
#include "export.h"
#include "extents.h"
#include "region.h"
#include "trace.h"

static unsigned int drain_timeout_ms = 1000;
module_param(drain_timeout_ms, uint, 0644);
MODULE_PARM_DESC(drain_timeout_ms,
		 "longest wait for DMA in flight when memory is taken away");

/* Read by who is inside pp_revoke(): so that waiting does not take those that come meanwhile. */
DEFINE_STATIC_SRCU(revoking);

/* The caller holds a reference of its own, so the put is never the last. */
static void region_queue_locked(struct peerpin_region *r,
				struct workqueue_struct *wq,
				struct work_struct *work)
{
	lockdep_assert_held(&r->lock);
	pp_region_get(r);
	if (!queue_work(wq, work))
		pp_region_put(r);
}

/*
 * What an exporter waits for with his lock held, when the region goes on, is not to
 * be behind regions that wait for fences; it has no importers and waits for none.
 */
static struct workqueue_struct *region_queue(const struct peerpin_region *r)
{
	return r->provider->map ? pp_stop_wq : pp_wq;
}

/*
 * Every queueing is in one critical section with what it follows, so a closer
 * who has seen that finds the work when he cancels it.
 */
static void region_queue_if_idle_locked(struct peerpin_region *r)
{
	lockdep_assert_held(&r->lock);
	if (r->deferred && !r->inflight && !r->held)
		region_queue_locked(r, region_queue(r), &r->work);
}

void pp_region_idle_locked(struct peerpin_region *r)
{
	lockdep_assert_held(&r->lock);
	wake_up_all(&r->idle);
	region_queue_if_idle_locked(r);
}

/*
 * The CPU is cut off at once, however long drivers take: what an unpin leaves
 * to an overdue one is in no view any more, and the file, with the address space
 * of the views, may go. A thread that is at it already is a user.
 */
static void region_blind(struct peerpin_region *r)
{
	wait_event(r->idle, pp_region_is_zero(r, &r->users));
	pp_cpumap_zap(r);
	wait_event(r->idle, pp_region_is_zero(r, &r->users));
}

unsigned long pp_revoke_deadline(void)
{
	return jiffies + msecs_to_jiffies(READ_ONCE(drain_timeout_ms));
}

/*
 * All are asked to let go, importers first, by work items: a slow stop() takes
 * none of their time.
 */
static void region_stop(struct peerpin_region *r)
{
	pp_export_tell_all(r);
	pp_attach_stop_all(r);
	region_blind(r);
}

/* Are they done? False when a driver has DMA in flight when time is up. */
static bool region_await(struct peerpin_region *r, unsigned long deadline)
{
	pp_export_wait_all(r, deadline);
	if (wait_event_timeout(r->idle, pp_region_is_zero(r, &r->inflight),
			       pp_time_left(deadline)))
		return true;
	pp_attach_name_busy(r);
	return false;
}

static bool region_drain_until(struct peerpin_region *r, unsigned long deadline)
{
	region_stop(r);
	return region_await(r, deadline);
}

static bool region_drain(struct peerpin_region *r)
{
	return region_drain_until(r, pp_revoke_deadline());
}

/*
 * No new user can come, for the state has ended. Attachments and exports still
 * being mapped see that too and undo themselves; so once users is 0 the lists
 * are final; the end of overdue DMA does not become one to synchronise. Dropping
 * may find some being dropped by another thread: those count as users until they
 * are unmapped, hence the second wait.
 */
static void region_unmap(struct peerpin_region *r)
{
	spin_lock_irq(&r->lock);
	r->unmapping = true;
	spin_unlock_irq(&r->lock);
	wait_event(r->idle, pp_region_is_zero(r, &r->users));
	pp_attach_drop_all(r);
	pp_export_drop_all(r);
	wait_event(r->idle, pp_region_is_zero(r, &r->users));
}

/* Nobody maps it, its pages are gone, no cookie names it: what is left goes. */
static void region_clean(struct peerpin_region *r)
{
	if (r->provider->cleanup)
		r->provider->cleanup(r->priv);
	pp_region_uncharge(r);
	pp_extents_free(r);
}

/*
 * The pages go to who takes them. A revocation that overtakes pin (the region
 * is still PINNING) finds nothing to take: pin has not returned, so the
 * provider may not know its pages yet. pp_region_pin() then sees REVOKED and
 * does not touch them either; they are their owner's when this returns.
 */
static bool region_take_pages(struct peerpin_region *r, bool *orphan)
{
	bool pinned;

	spin_lock_irq(&r->lock);
	pinned = r->pinned;
	*orphan = r->orphan;
	r->pinned = false;
	r->users += pinned;	/* cleanup waits until they are released */
	spin_unlock_irq(&r->lock);
	return pinned;
}

static void region_release(struct peerpin_region *r)
{
	bool orphan;

	if (!region_take_pages(r, &orphan))
		return;
	if (r->provider->release)
		r->provider->release(r->priv);
	pp_region_uncharge(r);
	pp_region_leave(r);
	if (!orphan)
		return;
	pp_cookie_erase(r);
	region_clean(r);
	pp_region_put(r);
}

/* Who was promised that the pages stay ends it by his unmapping: see region_end_by_work(). */
static bool region_is_held(struct peerpin_region *r)
{
	bool held;

	spin_lock_irq(&r->lock);
	held = r->held;
	if (held)
		r->deferred = true;
	spin_unlock_irq(&r->lock);
	return held;
}

static void region_yield(struct peerpin_region *r)
{
	region_unmap(r);
	if (!region_is_held(r))
		region_release(r);
}

/*
 * What its owner maps he keeps until it is unmapped, so that a driver which
 * overstays need not be overruled: the end of its DMA queues the work that goes on.
 */
static bool region_postpone(struct peerpin_region *r)
{
	if (!r->provider->map)
		return false;
	spin_lock_irq(&r->lock);
	r->deferred = true;
	region_queue_if_idle_locked(r);
	spin_unlock_irq(&r->lock);
	return true;
}

static bool region_revoke(struct peerpin_region *r, unsigned long deadline)
{
	u64 start = pp_trace_start(revoke);
	unsigned int inflight;
	bool drained;

	pp_region_end(r, PP_REVOKED);
	inflight = READ_ONCE(r->inflight);
	drained = region_drain_until(r, deadline);
	if (drained || !region_postpone(r))
		region_yield(r);	/* who overstays is overruled */
	trace_peerpin_revoke(r, false, inflight, !drained, start);
	return drained;
}

bool pp_region_list_going(struct peerpin_region *r, struct list_head *going)
{
	bool listed;

	spin_lock_irq(&r->lock);
	listed = list_empty(&r->going);
	if (listed)
		list_add_tail(&r->going, going);
	spin_unlock_irq(&r->lock);
	return listed;
}

static void region_unlist_going(struct peerpin_region *r)
{
	spin_lock_irq(&r->lock);
	list_del_init(&r->going);
	spin_unlock_irq(&r->lock);
}

static void going_stop(struct list_head *going)
{
	struct peerpin_region *r;

	list_for_each_entry(r, going, going) {
		pp_region_end(r, PP_REVOKED);
		region_stop(r);
	}
}

static void going_yield(struct list_head *going, u64 start)
{
	unsigned long deadline = pp_revoke_deadline();
	struct peerpin_region *r;
	unsigned int inflight;
	bool drained;

	list_for_each_entry(r, going, going) {
		inflight = READ_ONCE(r->inflight);
		drained = region_await(r, deadline);
		region_yield(r);
		trace_peerpin_revoke(r, false, inflight, !drained, start);
	}
}

static bool going_forget(struct list_head *going)
{
	unsigned long deadline = pp_revoke_deadline();
	struct peerpin_region *r, *next;
	bool gone = true;

	list_for_each_entry_safe(r, next, going, going) {
		wait_event_timeout(r->idle, pp_region_is_zero(r, &r->mappings), pp_time_left(deadline));
		gone &= pp_region_is_zero(r, &r->mappings) && pp_region_is_zero(r, &r->held);
		region_unlist_going(r);
		pp_region_put(r);
	}
	return gone;
}

bool pp_region_withdraw_all(struct list_head *going)
{
	u64 start = pp_trace_start(revoke);

	going_stop(going);
	going_yield(going, start);
	return going_forget(going);
}

bool pp_revoke_until(unsigned long cookie, unsigned long deadline)
{
	int reader = srcu_read_lock(&revoking);
	struct peerpin_region *r = pp_cookie_find(cookie);
	bool drained = true;

	if (r) {
		drained = region_revoke(r, deadline);
		pp_region_put(r);
	}
	srcu_read_unlock(&revoking, reader);
	return drained;
}

bool pp_revoke(unsigned long cookie)
{
	return pp_revoke_until(cookie, pp_revoke_deadline());
}
EXPORT_SYMBOL(pp_revoke);

void pp_region_barrier(void)
{
	synchronize_srcu(&revoking);
	/* the last one out still has to return through the caller's text */
	synchronize_rcu_tasks();
}

void pp_revoke_soon(unsigned long cookie)
{
	struct peerpin_region *r = pp_cookie_find(cookie);
	unsigned long flags;

	if (!r)
		return;
	spin_lock_irqsave(&r->lock, flags);
	if (pp_region_end_locked(r, PP_REVOKED)) {
		r->deferred = !r->provider->map;
		region_queue_locked(r, pp_stop_wq, &r->stop_work);
	}
	spin_unlock_irqrestore(&r->lock, flags);
	pp_region_put(r);
}
EXPORT_SYMBOL(pp_revoke_soon);

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
	region_clean(r);
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
		region_release(r);
		return;
	}
	region_finish(r, region_to_unpin(r));
	pp_region_put(r);
}

static bool region_end_by_work(struct peerpin_region *r)
{
	if (!region_drain(r))
		return false;
	region_unmap(r);
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

	region_stop(r);
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
		region_queue_if_idle_locked(r);
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
	if (!region_drain(r))
		return false;
	region_unmap(r);
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
