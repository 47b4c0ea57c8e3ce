// SPDX-License-Identifier: GPL-2.0
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include "../../kmod/core/region/provider.h"
#include "order_provider.h"

/* No memory of any machine has this address, but a device with 64 address bits reaches it */
#define NOWHERE (1ull << 50)

enum {
	MOMENT_MS = 20,
};

/**
 * struct order_pin - a pin, and the calls made for it; @lock protects all fields
 * @looks: number of running calls of look or extents
 */
struct order_pin {
	spinlock_t lock;
	unsigned long cookie;
	u64 addr;
	u64 length;
	bool lasting;
	bool pinned;
	bool looked;
	unsigned int looks;
	bool releasing, released;
	bool unpinning, unpinned;
	bool cleaned;
};

/* A revocation by another thread; the struct may outlive the region. */
struct order_revoke {
	struct work_struct work;
	unsigned long cookie;
	bool lasting;
	struct completion *done;
};

static struct workqueue_struct *revokers;

static DEFINE_SPINLOCK(counts_lock);
static unsigned int pins, looks, releases, unpins, cleanups, frees, revokes;
module_param(pins, uint, 0444);
module_param(looks, uint, 0444);
module_param(releases, uint, 0444);
module_param(unpins, uint, 0444);
module_param(cleanups, uint, 0444);
module_param(frees, uint, 0444);
module_param(revokes, uint, 0444);

static void count(unsigned int *what)
{
	unsigned long flags;

	spin_lock_irqsave(&counts_lock, flags);
	(*what)++;
	spin_unlock_irqrestore(&counts_lock, flags);
}

/* ---- revoking ------------------------------------------------------------------ */

static void revoke(unsigned long cookie, bool lasting)
{
	if (lasting)
		pp_revoke_soon(cookie);
	else
		pp_revoke(cookie);
	count(&revokes);
}

static void revoke_work(struct work_struct *work)
{
	struct order_revoke *v = container_of(work, struct order_revoke, work);

	revoke(v->cookie, v->lasting);
	if (v->done)
		complete(v->done);
	kfree(v);
}

/* Callable in any context */
static void revoke_beside(const struct order_pin *p, struct completion *done)
{
	struct order_revoke *v = kmalloc(sizeof(*v), GFP_ATOMIC | __GFP_NOFAIL);

	INIT_WORK(&v->work, revoke_work);
	v->cookie = p->cookie;
	v->lasting = p->lasting;
	v->done = done;
	queue_work(revokers, &v->work);
}

static void revoke_awaited(const struct order_pin *p)
{
	DECLARE_COMPLETION_ONSTACK(done);

	revoke_beside(p, &done);
	wait_for_completion(&done);
}

static void revoke_now(const struct order_pin *p)
{
	switch (ORDER_HOW(p->addr)) {
	case ORDER_HERE:
		revoke(p->cookie, p->lasting);
		break;
	case ORDER_AWAITED:
		revoke_awaited(p);
		break;
	case ORDER_BESIDE:
		revoke_beside(p, NULL);
		revoke_beside(p, NULL);
		msleep(MOMENT_MS);
		break;
	}
}

static void revoke_if(const struct order_pin *p, enum order_when when)
{
	if (ORDER_WHEN(p->addr) == when)
		revoke_now(p);
}

/* ---- the provider ---------------------------------------------------------------- */

static int order_pin_kind(struct order_pin *p, const struct pp_request *req, bool lasting)
{
	if (!ORDER_OURS(req->addr))
		return -EINVAL;
	spin_lock_init(&p->lock);
	p->cookie = req->cookie;
	p->addr = req->addr;
	p->length = req->length;
	p->lasting = lasting;
	count(&pins);
	revoke_if(p, ORDER_IN_PIN);
	if (ORDER_FAIL(p->addr) == ORDER_FAIL_PIN)
		return -EIO;
	p->pinned = true;
	return 0;
}

static int order_pin(void *priv, const struct pp_request *req, struct pp_why *why)
{
	return order_pin_kind(priv, req, false);
}

static int order_pin_lasting(void *priv, const struct pp_request *req, struct pp_why *why)
{
	return order_pin_kind(priv, req, true);
}

static void order_check_table(struct order_pin *p)
{
	WARN(p->releasing || p->released, "page table read after release");
	WARN(p->unpinning || p->unpinned || p->cleaned, "page table read after unpin or cleanup");
}

/* Callable under a spinlock of the core, with interrupts disabled */
static void order_look_begin(struct order_pin *p)
{
	unsigned long flags;

	spin_lock_irqsave(&p->lock, flags);
	WARN(!p->pinned, "page table read after a failed pin");
	order_check_table(p);
	p->looked = true;
	p->looks++;
	spin_unlock_irqrestore(&p->lock, flags);
	count(&looks);
}

static void order_look_end(struct order_pin *p)
{
	unsigned long flags;

	spin_lock_irqsave(&p->lock, flags);
	order_check_table(p);
	p->looks--;
	spin_unlock_irqrestore(&p->lock, flags);
}

static int order_look(void *priv, u64 length, u32 *caching)
{
	struct order_pin *p = priv;

	order_look_begin(p);
	if (ORDER_WHEN(p->addr) == ORDER_IN_LOOK) {
		revoke_beside(p, NULL);
		revoke_beside(p, NULL);
		mdelay(MOMENT_MS);	/* the core holds a spinlock */
	}
	order_look_end(p);
	return ORDER_FAIL(p->addr) == ORDER_FAIL_LOOK ? -EIO : 0;
}

static void order_extents(void *priv, struct pp_extents *x)
{
	struct order_pin *p = priv;

	order_look_begin(p);
	revoke_if(p, ORDER_IN_EXTENTS);
	pp_extents_add(x, NOWHERE, p->length);
	order_look_end(p);
}

static void order_check_giving(struct order_pin *p)
{
	WARN(!p->pinned, "unpin or release without a pin");
	WARN(p->looks, "unpin or release while the page table is read");
	WARN(p->cleaned, "unpin or release after cleanup");
}

static void order_release(void *priv)
{
	struct order_pin *p = priv;

	spin_lock_irq(&p->lock);
	order_check_giving(p);
	WARN(p->releasing || p->released, "release called twice");
	WARN(p->lasting && (p->unpinning || p->unpinned), "a lasting pin was unpinned and released");
	p->releasing = true;
	spin_unlock_irq(&p->lock);
	usleep_range(1000, 2000);	/* now a cleanup would run, if its thread did not wait for release */
	spin_lock_irq(&p->lock);
	WARN(p->cleaned, "cleanup did not wait for release");
	p->releasing = false;
	p->released = true;
	spin_unlock_irq(&p->lock);
	count(&releases);
}

static void order_unpin(void *priv)
{
	struct order_pin *p = priv;

	spin_lock_irq(&p->lock);
	order_check_giving(p);
	WARN(p->unpinning || p->unpinned, "unpin called twice");
	WARN(p->lasting && (p->releasing || p->released), "a lasting pin was released and unpinned");
	p->unpinning = true;
	spin_unlock_irq(&p->lock);
	revoke_if(p, ORDER_IN_UNPIN);
	spin_lock_irq(&p->lock);
	p->unpinning = false;
	p->unpinned = true;
	spin_unlock_irq(&p->lock);
	count(&unpins);
}

static void order_cleanup(void *priv)
{
	struct order_pin *p = priv;

	spin_lock_irq(&p->lock);
	WARN(p->cleaned, "cleanup called twice");
	WARN(p->looks || p->releasing || p->unpinning, "cleanup during another call");
	WARN(p->looked && !p->released && !p->unpinned, "cleanup without unpin or release");
	p->cleaned = true;
	spin_unlock_irq(&p->lock);
	revoke_if(p, ORDER_IN_CLEANUP);
	count(&cleanups);
}

static void order_free(void *priv)
{
	struct order_pin *p = priv;

	if (!ORDER_OURS(p->addr))
		return;
	WARN(p->pinned != p->cleaned, "free without cleanup, or cleanup of a failed pin");
	if (ORDER_WHEN(p->addr) == ORDER_AFTER_ALL)
		revoke_beside(p, NULL);
	count(&frees);
}

#define ORDER_PROVIDER \
	.owner = THIS_MODULE, \
	.id = PEERPIN_PROVIDER_TEGRA, \
	.page_size = 4096, \
	.priv_size = sizeof(struct order_pin), \
	.look = order_look, \
	.extents = order_extents, \
	.release = order_release, \
	.unpin = order_unpin, \
	.cleanup = order_cleanup, \
	.free = order_free

static const struct pp_provider order_goes = {
	ORDER_PROVIDER,
	.name = "order",
	.pin = order_pin,
};

static const struct pp_provider order_lasts = {
	ORDER_PROVIDER,
	.name = "order-lasting",
	.flags = PEERPIN_PIN_PERSISTENT,
	.lasting = true,
	.pin = order_pin_lasting,
};

static int order_register(void)
{
	int ret = pp_provider_register(&order_goes);

	if (ret)
		return ret;
	ret = pp_provider_register(&order_lasts);
	if (ret)
		pp_provider_unregister(&order_goes);
	return ret;
}

static int __init order_init(void)
{
	int ret;

	revokers = alloc_workqueue("order_provider", WQ_UNBOUND, 0);
	if (!revokers)
		return -ENOMEM;
	ret = order_register();
	if (ret)
		destroy_workqueue(revokers);
	return ret;
}

static void __exit order_exit(void)
{
	pp_provider_unregister(&order_lasts);
	pp_provider_unregister(&order_goes);
	destroy_workqueue(revokers);
}

module_init(order_init);
module_exit(order_exit);
MODULE_DESCRIPTION("peerpin provider that checks the order of calls, for tests");
MODULE_LICENSE("GPL");
