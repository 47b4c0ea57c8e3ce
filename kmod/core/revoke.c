// SPDX-License-Identifier: GPL-2.0
/* How a region ends whose memory is taken away by its owner. */
#include <linux/export.h>
#include <linux/rcupdate.h>
#include <linux/srcu.h>
#include "cookie.h"
#include "end.h"
#include "trace.h"

/* Read by who is inside pp_revoke(): so that waiting does not take those that come meanwhile. */
DEFINE_STATIC_SRCU(revoking);

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
	pp_region_unmap(r);
	if (!region_is_held(r))
		pp_region_release(r);
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
	pp_region_queue_if_idle_locked(r);
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
	drained = pp_region_drain(r, deadline);
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
		pp_region_stop(r);
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
		drained = pp_region_await(r, deadline);
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
		pp_region_queue_locked(r, pp_stop_wq, &r->stop_work);
	}
	spin_unlock_irqrestore(&r->lock, flags);
	pp_region_put(r);
}
EXPORT_SYMBOL(pp_revoke_soon);
