// SPDX-License-Identifier: GPL-2.0
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/overflow.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/xarray.h>
#include "attach.h"
#include "epoch.h"
#include "region.h"

static unsigned int drain_timeout_ms = 1000;
module_param(drain_timeout_ms, uint, 0644);
MODULE_PARM_DESC(drain_timeout_ms,
		 "longest wait for DMA in flight when memory is taken away");

/*
 * Cookie to region. A provider's callback knows a cookie only, so one that
 * comes late finds nothing. Cookies come from a 64-bit counter and are never
 * used twice.
 */
static DEFINE_XARRAY(cookies);
static atomic64_t next_cookie = ATOMIC64_INIT(1);

static atomic_t revoking = ATOMIC_INIT(0);
static DECLARE_WAIT_QUEUE_HEAD(revoking_none);

static void region_release(struct kref *ref)
{
	struct pp_region *r = container_of(ref, struct pp_region, ref);

	pp_provider_put(r->provider);
	kvfree(r->extents.at);
	kfree_rcu(r, rcu);
}

void pp_region_put(struct pp_region *r)
{
	kref_put(&r->ref, region_release);
}

static struct pp_region *region_by_cookie(unsigned long cookie)
{
	struct pp_region *r;

	rcu_read_lock();
	r = xa_load(&cookies, cookie);
	if (r && !kref_get_unless_zero(&r->ref))
		r = NULL;
	rcu_read_unlock();
	return r;
}

int pp_region_enter(struct pp_region *r)
{
	unsigned long flags;
	int ret = 0;

	spin_lock_irqsave(&r->lock, flags);
	if (r->state > PP_LIVE)
		ret = -ESTALE;
	else
		r->users++;
	spin_unlock_irqrestore(&r->lock, flags);
	return ret;
}

/* The wake-up is under the lock: the waiter may free the region after it. */
void pp_region_leave(struct pp_region *r)
{
	unsigned long flags;

	spin_lock_irqsave(&r->lock, flags);
	if (!--r->users)
		wake_up_all(&r->idle);
	spin_unlock_irqrestore(&r->lock, flags);
}

bool pp_region_is_live(struct pp_region *r)
{
	return READ_ONCE(r->state) == PP_LIVE;
}

static bool region_count_is_zero(struct pp_region *r, const unsigned int *count)
{
	bool zero;

	spin_lock_irq(&r->lock);
	zero = !*count;
	spin_unlock_irq(&r->lock);
	return zero;
}

static void region_wait_inflight(struct pp_region *r)
{
	unsigned long wait = msecs_to_jiffies(READ_ONCE(drain_timeout_ms));

	if (!wait_event_timeout(r->idle, region_count_is_zero(r, &r->inflight),
				wait))
		pp_attach_name_busy(r);
}

/*
 * No new user can come, for the state has ended. Attachments still being
 * mapped see that too and undo themselves, so once users is 0 the list is
 * final. Dropping may find an attachment being dropped by its peer already:
 * that one counts as a user until it is unmapped, hence the second wait.
 */
static void region_quiesce(struct pp_region *r)
{
	pp_attach_stop_all(r);
	region_wait_inflight(r);
	wait_event(r->idle, region_count_is_zero(r, &r->users));
	pp_attach_drop_all(r);
	wait_event(r->idle, region_count_is_zero(r, &r->users));
	complete_all(&r->quiesced);
}

/*
 * Leave LIVE. True for the one caller that does it and so has to quiesce. The
 * epoch dies with the state, under the lock: who sees the region end sees its
 * word changed.
 */
static bool region_end(struct pp_region *r, enum pp_region_state state)
{
	bool first;

	spin_lock_irq(&r->lock);
	first = r->state <= PP_LIVE;
	if (first) {
		r->state = state;
		pp_epoch_end(r->epoch);
	}
	spin_unlock_irq(&r->lock);
	return first;
}

static void region_end_and_wait(struct pp_region *r,
				enum pp_region_state state)
{
	if (region_end(r, state))
		region_quiesce(r);
	else
		wait_for_completion(&r->quiesced);
}

/* True once: the provider has to forget its pages. */
static bool region_take_pages(struct pp_region *r)
{
	bool pinned;

	spin_lock_irq(&r->lock);
	pinned = r->pinned;
	r->pinned = false;
	spin_unlock_irq(&r->lock);
	return pinned;
}

/*
 * A revocation that overtakes pin (the region is still PINNING) releases
 * nothing: pin has not returned, so the provider may not know its pages yet.
 * pp_region_pin() then sees REVOKED and does not touch them either; they are
 * the vendor's again when this returns.
 */
static void region_revoke(struct pp_region *r)
{
	region_end_and_wait(r, PP_REVOKED);
	if (region_take_pages(r))
		r->provider->release(r->priv);
}

void pp_revoke(unsigned long cookie)
{
	struct pp_region *r;

	atomic_inc(&revoking);
	r = region_by_cookie(cookie);
	if (r) {
		region_revoke(r);
		pp_region_put(r);
	}
	if (atomic_dec_and_test(&revoking))
		wake_up_all(&revoking_none);
}
EXPORT_SYMBOL(pp_revoke);

void pp_region_barrier(void)
{
	wait_event(revoking_none, !atomic_read(&revoking));
	/* the last one out still has to return through the caller's text */
	synchronize_rcu_tasks();
}

static struct pp_region *region_alloc(const struct pp_provider *provider,
				      const struct pp_request *want,
				      u32 *epoch)
{
	struct pp_region *r;
	u64 mask = provider->page_size - 1;

	r = kzalloc(struct_size(r, priv, DIV_ROUND_UP(provider->priv_size,
						      sizeof(void *))),
		    GFP_KERNEL_ACCOUNT);
	if (!r)
		return NULL;
	kref_init(&r->ref);
	spin_lock_init(&r->lock);
	init_waitqueue_head(&r->idle);
	init_completion(&r->quiesced);
	INIT_LIST_HEAD(&r->attaches);
	r->addr = want->addr & ~mask;
	r->length = ((want->addr + want->length + mask) & ~mask) - r->addr;
	r->epoch = epoch;
	r->since = ktime_get();
	r->cookie = atomic64_inc_return(&next_cookie);
	__module_get(provider->owner);
	r->provider = provider;
	return r;
}

static int region_pin_pages(struct pp_region *r, const struct pp_request *want,
			    struct pp_why *why)
{
	struct pp_request req = *want;
	int ret;

	req.addr = r->addr;
	req.length = r->length;
	req.cookie = r->cookie;
	ret = r->provider->pin(r->priv, &req, why);
	if (ret)
		return ret;

	/* from here to region_open() a revocation waits before it releases */
	spin_lock_irq(&r->lock);
	r->pinned = r->state == PP_PINNING;
	if (r->pinned)
		r->users++;
	else
		ret = -ESTALE;
	spin_unlock_irq(&r->lock);
	if (ret)
		why->reason = PEERPIN_REASON_REVOKED;
	return ret;
}

static int region_alloc_extents(struct pp_region *r, struct pp_why *why)
{
	struct pp_extents *x = &r->extents;
	u64 pages = div_u64(r->length, r->provider->page_size);

	if (pages <= UINT_MAX)
		x->at = kvmalloc_array(pages, sizeof(*x->at),
				       GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!x->at) {
		why->reason = PEERPIN_REASON_NO_MEMORY;
		return -ENOMEM;
	}
	x->room = pages;
	return 0;
}

/* They merge well as a rule: keep what is used. If that fails, keep it all. */
static void region_trim_extents(struct pp_extents *x)
{
	struct pp_extent *tight;

	if (x->count > x->room / 2)
		return;
	tight = kvmalloc_array(x->count, sizeof(*tight),
			       GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!tight)
		return;
	memcpy(tight, x->at, x->count * sizeof(*tight));
	kvfree(x->at);
	x->at = tight;
	x->room = x->count;
}

static int region_read_extents(struct pp_region *r, struct pp_why *why)
{
	int ret = region_alloc_extents(r, why);

	if (ret)
		return ret;
	ret = r->provider->extents(r->priv, &r->extents);
	if (ret) {
		why->reason = PEERPIN_REASON_VENDOR_ERROR;
		return ret;
	}
	region_trim_extents(&r->extents);
	return 0;
}

/* Read the page table and let the region live. */
static int region_open(struct pp_region *r, struct pp_why *why)
{
	int ret = region_read_extents(r, why);

	spin_lock_irq(&r->lock);
	if (r->state == PP_PINNING && !ret)
		r->state = PP_LIVE;
	spin_unlock_irq(&r->lock);
	pp_region_leave(r);
	return ret;
}

/* Forget a region that has no pages, or whose pages were taken or given back */
static void region_destroy(struct pp_region *r)
{
	if (r->provider->cleanup)
		r->provider->cleanup(r->priv);
	xa_erase(&cookies, r->cookie);
	pp_region_put(r);
}

struct pp_region *pp_region_pin(const struct pp_provider *provider,
				const struct pp_request *want, u32 *epoch,
				struct pp_why *why)
{
	struct pp_region *r;
	int ret;

	why->reason = PEERPIN_REASON_NO_MEMORY;
	r = region_alloc(provider, want, epoch);
	if (!r)
		return ERR_PTR(-ENOMEM);
	r->pin_epoch = pp_epoch_begin(epoch);
	ret = xa_insert(&cookies, r->cookie, r, GFP_KERNEL_ACCOUNT);
	if (ret)
		goto err_free;
	why->reason = PEERPIN_REASON_NONE;
	ret = region_pin_pages(r, want, why);
	if (ret == -ESTALE)
		goto err_close;	/* a revocation may still be busy with it */
	if (ret)
		goto err_forget;
	ret = region_open(r, why);
	if (ret)
		goto err_close;
	return r;

err_close:
	pp_region_close(r);
	return ERR_PTR(ret);
err_forget:
	xa_erase(&cookies, r->cookie);
err_free:
	region_end_and_wait(r, PP_CLOSED);
	pp_region_put(r);
	return ERR_PTR(ret);
}

/*
 * Who can still hold a reference here: the id table gave its one to us; a
 * look-up by id that came before; attachments, dropped by quiescing but held
 * by drivers; a callback that found the cookie. All of them find the state
 * ended and touch neither pages nor epoch.
 *
 * unpin and a callback's release may run at the same time when the callback
 * comes between region_end() and the vendor's unlinking of the pin. Both are
 * what the vendor asks for, and neither frees the other's data: @priv lives
 * until the last reference.
 */
void pp_region_close(struct pp_region *r)
{
	bool pinned;

	region_end_and_wait(r, PP_CLOSED);
	spin_lock_irq(&r->lock);
	pinned = r->pinned && r->state == PP_CLOSED;
	spin_unlock_irq(&r->lock);
	if (pinned)
		r->provider->unpin(r->priv);
	region_destroy(r);
}
