// SPDX-License-Identifier: GPL-2.0
#include <linux/mm.h>
#include <linux/slab.h>
#include "account.h"
#include "../dma/inflight.h"
#include "close.h"
#include "cookie.h"
#include "epoch.h"
#include "region.h"

struct workqueue_struct *pp_wq;
struct workqueue_struct *pp_stop_wq;
struct workqueue_struct *pp_tell_wq;
struct workqueue_struct *pp_lock_wq;

static void region_free(struct pp_ref *ref)
{
	struct peerpin_region *r = container_of(ref, struct peerpin_region, ref);

	if (r->provider->free)
		r->provider->free(r->priv);
	pp_provider_put(r->provider);
	pp_account_put(r->account);
	kfree_rcu(r, rcu);
}

struct peerpin_region *pp_region_alloc(const struct pp_provider *provider,
				       struct pp_account *account)
{
	struct peerpin_region *r = kzalloc(sizeof(*r) + provider->priv_size, GFP_KERNEL_ACCOUNT);

	if (!r)
		return NULL;
	pp_ref_init(&r->ref, region_free);
	spin_lock_init(&r->lock);
	init_waitqueue_head(&r->idle);
	mutex_init(&r->making);
	INIT_LIST_HEAD(&r->attaches);
	INIT_LIST_HEAD(&r->exports);
	INIT_LIST_HEAD(&r->going);
	INIT_WORK(&r->stop_work, pp_region_stop_work);
	INIT_WORK(&r->work, pp_region_work);
	r->since = jiffies;
	r->provider = provider;
	r->account = pp_account_hold(account);
	return r;
}

void pp_region_get(struct peerpin_region *r)
{
	pp_ref_get(&r->ref);
}

void pp_region_put(struct peerpin_region *r)
{
	pp_ref_put(&r->ref);
}

bool pp_region_tryget(struct peerpin_region *r)
{
	return pp_ref_tryget(&r->ref);
}

void pp_region_note_lookup(struct peerpin_region *r)
{
	if (!pp_ref_is_shared(&r->ref))
		return;
	spin_lock_irq(&r->lock);
	if (r->state == PP_LIVE)
		pp_ref_spread(&r->ref);
	spin_unlock_irq(&r->lock);
}

int pp_region_enter(struct peerpin_region *r)
{
	unsigned long flags;
	int ret = 0;

	spin_lock_irqsave(&r->lock, flags);
	if (r->state != PP_LIVE)
		ret = -ESTALE;
	else
		r->users++;
	spin_unlock_irqrestore(&r->lock, flags);
	return ret;
}

/* Wakes under the lock: once the lock is released, the waiter may free the region. */
void pp_region_leave(struct peerpin_region *r)
{
	unsigned long flags;

	spin_lock_irqsave(&r->lock, flags);
	if (!--r->users && r->state > PP_LIVE)
		wake_up_all(&r->idle);
	spin_unlock_irqrestore(&r->lock, flags);
}

bool pp_region_is_live(struct peerpin_region *r)
{
	return READ_ONCE(r->state) == PP_LIVE;
}

bool pp_region_is_zero(struct peerpin_region *r, const unsigned int *count)
{
	bool zero;

	spin_lock_irq(&r->lock);
	zero = !*count;
	spin_unlock_irq(&r->lock);
	return zero;
}

/* State and epoch change under the lock, so a thread that sees the new state sees the new epoch. */
bool pp_region_end_locked(struct peerpin_region *r, enum pp_region_cause cause)
{
	lockdep_assert_held(&r->lock);
	if (r->state > PP_LIVE)
		return false;
	if (r->state == PP_LIVE && cause == PP_REVOKED)
		pp_account_count_revoked(r->account);
	WRITE_ONCE(r->cause, cause);
	pp_region_move_locked(r, r->state == PP_LIVE ? PP_ENDING : PP_ENDED);
	pp_epoch_end(r->epoch);
	pp_inflight_gather_all_locked(r);
	pp_ref_gather(&r->ref);
	return true;
}

void pp_region_end(struct peerpin_region *r, enum pp_region_cause cause)
{
	spin_lock_irq(&r->lock);
	pp_region_end_locked(r, cause);
	spin_unlock_irq(&r->lock);
}

void pp_region_count_map_locked(struct peerpin_region *r)
{
	lockdep_assert_held(&r->lock);
	if (r->maps < U32_MAX)
		WRITE_ONCE(r->maps, r->maps + 1);
}

void pp_region_uncharge(struct peerpin_region *r)
{
	pp_account_uncharge(r->account, atomic64_xchg(&r->charged, 0));
}

/* region.h has the purpose of each queue */
static const struct {
	struct workqueue_struct **wq;
	const char *name;
	unsigned int flags;
} queues[] = {
	{ &pp_wq, "peerpin", WQ_MEM_RECLAIM },
	{ &pp_stop_wq, "peerpin_stop", WQ_MEM_RECLAIM },
	/* WQ_HIGHPRI has its own workers, which waiting items of other queues do not use up */
	{ &pp_tell_wq, "peerpin_tell", WQ_MEM_RECLAIM | WQ_HIGHPRI },
	/* no WQ_MEM_RECLAIM: a rescuer would wait for one lock after the other */
	{ &pp_lock_wq, "peerpin_lock", 0 },
};

void pp_region_exit(void)
{
	unsigned int i;

	rcu_barrier();	/* regions and attachments whose references are being gathered */
	for (i = 0; i < ARRAY_SIZE(queues); i++)
		if (*queues[i].wq)
			destroy_workqueue(*queues[i].wq);
	pp_cookie_exit();
}

int pp_region_init(void)
{
	unsigned int i;

	pp_cookie_init();
	for (i = 0; i < ARRAY_SIZE(queues); i++) {
		*queues[i].wq = alloc_workqueue("%s", WQ_UNBOUND | queues[i].flags,
						WQ_UNBOUND_MAX_ACTIVE, queues[i].name);
		if (!*queues[i].wq) {
			pp_region_exit();
			return -ENOMEM;
		}
	}
	return 0;
}
