// SPDX-License-Identifier: GPL-2.0
/* What the ends of a region have in common: whoever uses it lets go, then its pages and its data go. */
#include <linux/moduleparam.h>
#include "attach.h"
#include "cookie.h"
#include "cpumap.h"
#include "end.h"
#include "export.h"
#include "extents.h"

static unsigned int drain_timeout_ms = 1000;
module_param(drain_timeout_ms, uint, 0644);
MODULE_PARM_DESC(drain_timeout_ms,
		 "longest wait for DMA in flight when memory is taken away");

/* The caller holds a reference of its own, so the put is never the last. */
void pp_region_queue_locked(struct peerpin_region *r, struct workqueue_struct *wq, struct work_struct *work)
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
void pp_region_queue_if_idle_locked(struct peerpin_region *r)
{
	lockdep_assert_held(&r->lock);
	if (r->deferred && !r->inflight && !r->held)
		pp_region_queue_locked(r, region_queue(r), &r->work);
}

void pp_region_idle_locked(struct peerpin_region *r)
{
	lockdep_assert_held(&r->lock);
	wake_up_all(&r->idle);
	pp_region_queue_if_idle_locked(r);
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
void pp_region_stop(struct peerpin_region *r)
{
	pp_export_tell_all(r);
	pp_attach_stop_all(r);
	region_blind(r);
}

bool pp_region_await(struct peerpin_region *r, unsigned long deadline)
{
	pp_export_wait_all(r, deadline);
	if (wait_event_timeout(r->idle, pp_region_is_zero(r, &r->inflight),
			       pp_time_left(deadline)))
		return true;
	pp_attach_name_busy(r);
	return false;
}

bool pp_region_drain(struct peerpin_region *r, unsigned long deadline)
{
	pp_region_stop(r);
	return pp_region_await(r, deadline);
}

/*
 * No new user can come, for the state has ended. Attachments and exports still
 * being mapped see that too and undo themselves; so once users is 0 the lists
 * are final; the end of overdue DMA does not become one to synchronise. Dropping
 * may find some being dropped by another thread: those count as users until they
 * are unmapped, hence the second wait.
 */
void pp_region_unmap(struct peerpin_region *r)
{
	spin_lock_irq(&r->lock);
	r->unmapping = true;
	spin_unlock_irq(&r->lock);
	wait_event(r->idle, pp_region_is_zero(r, &r->users));
	pp_attach_drop_all(r);
	pp_export_drop_all(r);
	wait_event(r->idle, pp_region_is_zero(r, &r->users));
}

void pp_region_clean(struct peerpin_region *r)
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

void pp_region_release(struct peerpin_region *r)
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
	pp_region_clean(r);
	pp_region_put(r);
}
