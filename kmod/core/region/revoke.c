// SPDX-License-Identifier: GPL-2.0
/* The end of a region by the memory's owner, or by the core when a device is removed. */
#include <linux/export.h>
#include <linux/rcupdate.h>
#include <linux/srcu.h>
#include "cookie.h"
#include "end.h"
#include "revoke.h"
#include "../node/trace.h"

/*
 * pp_revoke() runs in a read-side section. With SRCU, pp_region_barrier() does not wait for calls
 * that begin later.
 */
DEFINE_STATIC_SRCU(revoking);

static void region_defer_locked(struct peerpin_region *r)
{
	if (r->state == PP_ENDING)
		pp_region_move_locked(r, PP_DEFERRED);
}

/*
 * True: DMA or a held mapping still needs the pages. The end of the last DMA or held mapping then
 * queues @work, which ends the region.
 */
static bool region_defer(struct peerpin_region *r, bool unmapped)
{
	bool defer;

	spin_lock_irq(&r->lock);
	defer = !unmapped || r->held;
	if (defer) {
		region_defer_locked(r);
		pp_region_queue_if_idle_locked(r);
	}
	spin_unlock_irq(&r->lock);
	return defer;
}

/* @overrule: DMA that is in flight at @deadline loses its mapping */
static bool region_revoke(struct peerpin_region *r, unsigned long deadline, bool overrule,
			  u64 start)
{
	unsigned int inflight;
	bool drained;

	pp_region_end(r, PP_REVOKED);
	inflight = data_race(r->inflight);	/* for the trace only */
	drained = pp_region_take_down(r, deadline, overrule);
	if (!region_defer(r, drained || overrule))
		pp_region_release(r);
	trace_peerpin_revoke(r, false, inflight, !drained, start);
	return drained;
}

/* ---- a device that is removed ---------------------------------------------------- */

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

static bool going_forget(struct peerpin_region *r, unsigned long deadline)
{
	bool gone;

	wait_event_timeout(r->idle, pp_region_is_zero(r, &r->mappings), pp_time_left(deadline));
	spin_lock_irq(&r->lock);
	gone = !r->mappings && !r->held;
	list_del_init(&r->going);
	spin_unlock_irq(&r->lock);
	pp_region_put(r);
	return gone;
}

bool pp_region_withdraw_all(struct list_head *going)
{
	u64 start = pp_trace_start(revoke);
	struct peerpin_region *r, *next;
	unsigned long deadline;
	bool gone = true;

	list_for_each_entry(r, going, going) {
		pp_region_end(r, PP_REVOKED);
		cond_resched();
	}
	list_for_each_entry(r, going, going) {
		pp_region_stop(r);
		cond_resched();
	}
	deadline = pp_revoke_deadline();
	list_for_each_entry(r, going, going) {
		region_revoke(r, deadline, true, start);
		cond_resched();
	}
	deadline = pp_revoke_deadline();
	list_for_each_entry_safe(r, next, going, going) {
		gone &= going_forget(r, deadline);
		cond_resched();
	}
	return gone;
}

/* ---- a revocation by a provider --------------------------------------------------- */

/* Overdue DMA keeps a mapping made by the provider: the exporter keeps the memory while mapped. */
bool pp_revoke_until(unsigned long cookie, unsigned long deadline)
{
	int reader = srcu_read_lock(&revoking);
	struct peerpin_region *r = pp_cookie_find(cookie);
	bool drained = true;

	if (r) {
		drained = region_revoke(r, deadline, !r->provider->map, pp_trace_start(revoke));
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
	/* the last thread still has to return through code of the provider's module */
	synchronize_rcu_tasks();
}

/* For provider-mapped memory the provider calls pp_revoke_until() next. */
void pp_revoke_soon(unsigned long cookie)
{
	struct peerpin_region *r = pp_cookie_find(cookie);
	unsigned long flags;

	if (!r)
		return;
	spin_lock_irqsave(&r->lock, flags);
	if (pp_region_end_locked(r, PP_REVOKED)) {
		if (!r->provider->map)
			region_defer_locked(r);
		pp_region_queue_locked(r, pp_stop_wq, &r->stop_work);
	}
	spin_unlock_irqrestore(&r->lock, flags);
	pp_region_put(r);
}
EXPORT_SYMBOL(pp_revoke_soon);
