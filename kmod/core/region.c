// SPDX-License-Identifier: GPL-2.0
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/overflow.h>
#include <linux/pid.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include "attach.h"
#include "cookie.h"
#include "epoch.h"
#include "region.h"

static unsigned int drain_timeout_ms = 1000;
module_param(drain_timeout_ms, uint, 0644);
MODULE_PARM_DESC(drain_timeout_ms,
		 "longest wait for DMA in flight when memory is taken away");

static atomic_t revoking = ATOMIC_INIT(0);
static DECLARE_WAIT_QUEUE_HEAD(revoking_none);

static struct workqueue_struct *region_wq;

static void region_free(struct kref *ref)
{
	struct pp_region *r = container_of(ref, struct pp_region, ref);

	pp_provider_put(r->provider);
	put_pid(r->owner);
	kfree_rcu(r, rcu);
}

void pp_region_get(struct pp_region *r)
{
	kref_get(&r->ref);
}

void pp_region_put(struct pp_region *r)
{
	kref_put(&r->ref, region_free);
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

/*
 * Leave LIVE, for the first caller, who is told so. The epoch dies with the
 * state, under the lock: who sees the region end sees its word changed.
 */
static bool region_end_locked(struct pp_region *r, enum pp_region_state state)
{
	lockdep_assert_held(&r->lock);
	if (r->state > PP_LIVE)
		return false;
	WRITE_ONCE(r->state, state);
	pp_epoch_end(r->epoch);
	return true;
}

static void region_end(struct pp_region *r, enum pp_region_state state)
{
	spin_lock_irq(&r->lock);
	region_end_locked(r, state);
	spin_unlock_irq(&r->lock);
}

/* The caller holds a reference of its own, so the put is never the last. */
static void region_queue_locked(struct pp_region *r)
{
	lockdep_assert_held(&r->lock);
	pp_region_get(r);
	if (!queue_work(region_wq, &r->work))
		pp_region_put(r);
}

/*
 * A work item that gave up waiting for DMA comes back when there is none. Every
 * queueing is in one critical section with what it follows, so a closer who
 * has seen that finds the work when he cancels it.
 */
void pp_region_idle_locked(struct pp_region *r)
{
	lockdep_assert_held(&r->lock);
	wake_up_all(&r->idle);
	if (r->state > PP_LIVE && r->provider->page_backed)
		region_queue_locked(r);
}

/* Have drivers end DMA in flight; false when one has not when time is up. */
static bool region_drain(struct pp_region *r)
{
	unsigned long wait = msecs_to_jiffies(READ_ONCE(drain_timeout_ms));

	pp_attach_stop_all(r);
	if (wait_event_timeout(r->idle, region_count_is_zero(r, &r->inflight),
			       wait))
		return true;
	pp_attach_name_busy(r);
	return false;
}

/*
 * No new user can come, for the state has ended. Attachments still being
 * mapped see that too and undo themselves, so once users is 0 the list is
 * final. Dropping may find some being dropped by another thread: those count
 * as users until they are unmapped, hence the second wait.
 */
static void region_unmap(struct pp_region *r)
{
	wait_event(r->idle, region_count_is_zero(r, &r->users));
	pp_attach_drop_all(r);
	wait_event(r->idle, region_count_is_zero(r, &r->users));
}

/* Nobody maps it and its pages are gone: forget it. */
static void region_destroy(struct pp_region *r)
{
	if (r->provider->cleanup)
		r->provider->cleanup(r->priv);
	kvfree(r->extents.at);
	pp_cookie_erase(r);
	pp_region_put(r);
}

/*
 * The pages go to who takes them. A revocation that overtakes pin (the region
 * is still PINNING) finds nothing to take: pin has not returned, so the
 * provider may not know its pages yet. pp_region_pin() then sees REVOKED and
 * does not touch them either; they are their owner's when this returns.
 */
static bool region_take_pages(struct pp_region *r, bool *orphan)
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

static void region_release(struct pp_region *r)
{
	bool orphan;

	if (!region_take_pages(r, &orphan))
		return;
	r->provider->release(r->priv);
	pp_region_leave(r);
	if (orphan)
		region_destroy(r);
}

static void region_revoke(struct pp_region *r)
{
	region_end(r, PP_REVOKED);
	region_drain(r);	/* a driver that overstays is overruled */
	region_unmap(r);
	region_release(r);
}

void pp_revoke(unsigned long cookie)
{
	struct pp_region *r;

	atomic_inc(&revoking);
	r = pp_cookie_find(cookie);
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

/*
 * The pages are kept meanwhile, so however long a driver takes is safe; when
 * its DMA ends at last, pp_region_idle_locked() queues this again.
 */
static void region_work(struct work_struct *work)
{
	struct pp_region *r = container_of(work, struct pp_region, work);

	if (region_drain(r)) {
		region_unmap(r);
		region_release(r);
	}
	pp_region_put(r);
}

void pp_revoke_soon(unsigned long cookie)
{
	struct pp_region *r = pp_cookie_find(cookie);
	unsigned long flags;

	if (!r)
		return;
	spin_lock_irqsave(&r->lock, flags);
	if (region_end_locked(r, PP_REVOKED))
		region_queue_locked(r);
	spin_unlock_irqrestore(&r->lock, flags);
	pp_region_put(r);
}
EXPORT_SYMBOL(pp_revoke_soon);

static struct pp_region *region_alloc(const struct pp_provider *provider,
				      const struct pp_request *want, u32 *epoch)
{
	size_t words = DIV_ROUND_UP(provider->priv_size, sizeof(void *));
	u64 mask = provider->page_size - 1;
	struct pp_region *r;

	r = kzalloc(struct_size(r, priv, words), GFP_KERNEL_ACCOUNT);
	if (!r)
		return NULL;
	kref_init(&r->ref);
	spin_lock_init(&r->lock);
	init_waitqueue_head(&r->idle);
	INIT_WORK(&r->work, region_work);
	INIT_LIST_HEAD(&r->attaches);
	r->addr = want->addr & ~mask;
	r->length = ((want->addr + want->length + mask) & ~mask) - r->addr;
	r->epoch = epoch;
	r->owner = get_pid(task_tgid(current));
	r->since = ktime_get();
	__module_get(provider->owner);
	r->provider = provider;
	return r;
}

static struct pp_region *region_new(const struct pp_provider *provider,
				    const struct pp_request *want, u32 *epoch)
{
	struct pp_region *r = region_alloc(provider, want, epoch);

	if (!r)
		return NULL;
	if (pp_cookie_insert(r)) {
		pp_region_put(r);
		return NULL;
	}
	r->pin_epoch = pp_epoch_begin(epoch);
	return r;
}

static int region_pin_pages(struct pp_region *r, const struct pp_request *want,
			    struct pp_why *why)
{
	struct pp_request req = *want;

	req.addr = r->addr;
	req.length = r->length;
	req.cookie = r->cookie;
	return r->provider->pin(r->priv, &req, why);
}

/* Take hold of the pages, unless they were taken away since pin returned. */
static int region_arm(struct pp_region *r)
{
	spin_lock_irq(&r->lock);
	r->pinned = r->state == PP_PINNING;
	spin_unlock_irq(&r->lock);
	return r->pinned ? 0 : -ESTALE;
}

/* After pinning, when it is known that as much memory exists */
static int region_alloc_extents(struct pp_region *r)
{
	struct pp_extents *x = &r->extents;
	u64 pages = div_u64(r->length, r->provider->page_size);

	if (pages > UINT_MAX)
		return -ENOMEM;
	x->at = kvmalloc_array(pages, sizeof(*x->at),
			       GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	x->room = pages;
	return x->at ? 0 : -ENOMEM;
}

/* As a user: a revocation waits before it releases the page table. */
static int region_read_extents(struct pp_region *r)
{
	struct pp_extents *x = &r->extents;
	int ret;

	ret = pp_region_enter(r);
	if (ret)
		return ret;
	ret = r->provider->extents(r->priv, x);
	if (!ret && x->bytes != r->length)
		ret = -EIO;
	pp_region_leave(r);
	return ret;
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

static int region_go_live(struct pp_region *r)
{
	int ret = -ESTALE;

	spin_lock_irq(&r->lock);
	if (r->state == PP_PINNING) {
		WRITE_ONCE(r->state, PP_LIVE);
		ret = 0;
	}
	spin_unlock_irq(&r->lock);
	return ret;
}

static int region_open(struct pp_region *r)
{
	int ret = region_arm(r);

	if (!ret)
		ret = region_alloc_extents(r);
	if (!ret)
		ret = region_read_extents(r);
	if (ret)
		return ret;
	region_trim_extents(&r->extents);
	return region_go_live(r);
}

static u32 region_why_not_open(int error)
{
	switch (error) {
	case -ESTALE:
		return PEERPIN_REASON_REVOKED;
	case -ENOMEM:
		return PEERPIN_REASON_NO_MEMORY;
	default:
		return PEERPIN_REASON_VENDOR_ERROR;
	}
}

struct pp_region *pp_region_pin(const struct pp_provider *provider,
				const struct pp_request *want, u32 *epoch,
				struct pp_why *why)
{
	struct pp_region *r = region_new(provider, want, epoch);
	int ret;

	if (!r) {
		why->reason = PEERPIN_REASON_NO_MEMORY;
		return ERR_PTR(-ENOMEM);
	}
	ret = region_pin_pages(r, want, why);
	if (ret)
		goto err_forget;
	ret = region_open(r);
	if (ret) {
		why->reason = region_why_not_open(ret);
		pp_region_close(r);
		return ERR_PTR(ret);
	}
	return r;

err_forget:
	region_end(r, PP_CLOSED);
	pp_cookie_erase(r);	/* nothing to clean up: pin has failed */
	pp_region_put(r);
	return ERR_PTR(ret);
}

/*
 * Leave the pages to whoever revokes them, or to the work that waits for the
 * DMA. False when they were taken just now, so that nobody would come.
 */
static bool region_abandon(struct pp_region *r)
{
	bool left;

	spin_lock_irq(&r->lock);
	left = r->pinned;
	r->orphan = left;
	if (left && r->provider->page_backed)
		region_queue_locked(r);
	spin_unlock_irq(&r->lock);
	return left;
}

/*
 * unpin and a callback's release may run at the same time, when the callback
 * comes between the state's end and the vendor's unlinking of the pin. Both
 * are what the vendor asks for, and neither frees the other's data: @priv lives
 * until the last reference, and the callback holds one.
 */
static void region_unpin(struct pp_region *r)
{
	bool pinned;

	spin_lock_irq(&r->lock);
	pinned = r->pinned;
	if (r->provider->page_backed)
		r->pinned = false;
	spin_unlock_irq(&r->lock);
	if (pinned)
		r->provider->unpin(r->priv);
}

static bool region_may_unpin_here(struct pp_region *r)
{
	return !r->provider->unpin_by_owner || task_tgid(current) == r->owner;
}

void pp_region_close(struct pp_region *r)
{
	bool idle;

	pp_region_get(r);	/* destroyed by another thread as soon as it is an orphan */
	region_end(r, PP_CLOSED);
	idle = region_drain(r);
	if (idle)
		region_unmap(r);
	if ((idle && region_may_unpin_here(r)) || !region_abandon(r)) {
		if (cancel_work_sync(&r->work))
			pp_region_put(r);
		region_unpin(r);
		wait_event(r->idle, region_count_is_zero(r, &r->users));
		region_destroy(r);
	}
	pp_region_put(r);
}

int pp_region_init(void)
{
	region_wq = alloc_workqueue("peerpin", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	return region_wq ? 0 : -ENOMEM;
}

void pp_region_exit(void)
{
	destroy_workqueue(region_wq);
}
