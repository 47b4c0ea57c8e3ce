// SPDX-License-Identifier: GPL-2.0
#include <linux/moduleparam.h>
#include "../dma/attach.h"
#include "cookie.h"
#include "counts.h"
#include "../node/cpumap.h"
#include "end.h"
#include "../dma/export.h"
#include "extents.h"

static unsigned int drain_timeout_ms = 1000;
module_param(drain_timeout_ms, uint, 0644);
MODULE_PARM_DESC(drain_timeout_ms,
		 "longest wait for DMA in flight when memory is revoked or unpinned");

unsigned long pp_revoke_deadline(void)
{
	return jiffies + msecs_to_jiffies(READ_ONCE(drain_timeout_ms));
}

/* The caller has a reference of its own, so the put here never drops the last reference. */
void pp_region_queue_locked(struct peerpin_region *r, struct workqueue_struct *wq,
			    struct work_struct *work)
{
	lockdep_assert_held(&r->lock);
	pp_region_get(r);
	if (!queue_work(wq, work))
		pp_region_put(r);
}

/* Must @work end the region? Only a revocation ends an orphan with unpin_by_owner. */
static bool region_waits_for_work(const struct peerpin_region *r)
{
	return r->state == PP_DEFERRED ||
	       (r->state == PP_ORPHAN && !r->provider->unpin_by_owner);
}

/*
 * Called in the critical section that makes @work necessary. So a thread that later cancels @work
 * finds @work queued. Provider-mapped regions use pp_stop_wq, because an exporter may wait for the
 * end of our DMA under its reservation lock. Such regions have no importers, so their @work waits
 * for no fence.
 */
void pp_region_queue_if_idle_locked(struct peerpin_region *r)
{
	lockdep_assert_held(&r->lock);
	if (region_waits_for_work(r) && !r->inflight && !r->held)
		pp_region_queue_locked(r, r->provider->map ? pp_stop_wq : pp_wq, &r->work);
}

void pp_region_idle_locked(struct peerpin_region *r)
{
	lockdep_assert_held(&r->lock);
	wake_up_all(&r->idle);
	pp_region_queue_if_idle_locked(r);
}

/*
 * Empties the CPU mappings before any wait for DMA. So an orphan has no CPU mapping, and close()
 * can free the file, which contains the address space of CPU mappings. The first wait is for page
 * faults, the second for another thread that is emptying the mappings.
 */
static void region_zap(struct peerpin_region *r)
{
	wait_event(r->idle, pp_region_is_zero(r, &r->users));
	pp_cpumap_zap(r);
	wait_event(r->idle, pp_region_is_zero(r, &r->users));
}

/* Importers first: work items notify the importers while stop() of the drivers runs here. */
void pp_region_stop(struct peerpin_region *r)
{
	pp_export_tell_all(r);
	pp_attach_stop_all(r);
	region_zap(r);
}

/*
 * If DMA was counted per processor, waits for the grace period of RCU after which @inflight is exact. No timeout
 * bounds this wait, because no driver causes it. Then returns at least a tenth of a second, so that the RCU callback
 * can finish, although another thread or a hypervisor interrupts it. Otherwise the log would blame a driver without
 * DMA.
 */
static unsigned long region_gather(struct peerpin_region *r, unsigned long deadline)
{
	wait_event(r->idle, pp_region_is_zero(r, &r->gathering));
	return max(pp_time_left(deadline), READ_ONCE(r->spread) ? HZ / 10 : 0ul);
}

static bool region_await(struct peerpin_region *r, unsigned long deadline)
{
	unsigned long left;

	pp_export_wait_all(r, deadline);
	left = region_gather(r, deadline);
	if (wait_event_timeout(r->idle, pp_region_is_zero(r, &r->inflight), left))
		return true;
	pp_count(timeouts);
	pp_attach_name_busy(r);
	return false;
}

/*
 * The state is beyond LIVE, so pp_region_enter() fails and no mapping is added to the lists. A
 * thread that is mapping right now sees the state and undoes its mapping. So the lists of
 * mappings are final once @users is 0.
 * @unmapping: overdue DMA that ends later does not synchronise, so its end does not raise @users.
 * The second wait is for other threads that are undoing mappings: each such thread is a user.
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

bool pp_region_take_down(struct peerpin_region *r, unsigned long deadline, bool overrule)
{
	bool drained;

	pp_region_stop(r);
	drained = region_await(r, deadline);
	if (!drained && overrule)
		pp_count(overstays);
	if (drained || overrule)
		region_unmap(r);
	return drained;
}

void pp_region_clean(struct peerpin_region *r)
{
	if (r->provider->cleanup)
		r->provider->cleanup(r->priv);
	pp_region_uncharge(r);
	pp_extents_free(r);
}

/*
 * True for the one thread that has to call release(). A region that was revoked during pin() is
 * ENDED already, and its provider may not know the pages yet. So neither release() nor unpin() is
 * called; cleanup() gives the pages back.
 */
static bool region_take_pages(struct peerpin_region *r, bool *orphan)
{
	bool take;

	spin_lock_irq(&r->lock);
	*orphan = r->state == PP_ORPHAN;
	take = r->state != PP_ENDED;
	r->users += take;	/* cleanup() waits until release() has returned */
	pp_region_move_locked(r, PP_ENDED);
	spin_unlock_irq(&r->lock);
	return take;
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
