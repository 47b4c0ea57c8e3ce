// SPDX-License-Identifier: GPL-2.0
#include <linux/dma-fence.h>
#include <linux/module.h>
#include <linux/slab.h>
#include "end_fence.h"

struct end_fence {
	struct dma_fence base;
	spinlock_t lock;
};

static const char *end_fence_name(struct dma_fence *fence)
{
	return "peerpin";
}

/* Unloading waits for readers of RCU, which this softirq is, to the end of this function. */
static void end_fence_free(struct rcu_head *rcu)
{
	struct dma_fence *fence = container_of(rcu, struct dma_fence, rcu);

	kfree(container_of(fence, struct end_fence, base));
	module_put(THIS_MODULE);
}

static void end_fence_release(struct dma_fence *fence)
{
	call_rcu(&fence->rcu, end_fence_free);
}

static const struct dma_fence_ops end_fence_ops = {
	.get_driver_name = end_fence_name,
	.get_timeline_name = end_fence_name,
	.release = end_fence_release,
};

struct dma_fence *pp_end_fence_new(void)
{
	struct end_fence *f = kzalloc(sizeof(*f), GFP_KERNEL_ACCOUNT);

	if (!f)
		return NULL;
	__module_get(THIS_MODULE);
	spin_lock_init(&f->lock);
	dma_fence_init(&f->base, &end_fence_ops, &f->lock, dma_fence_context_alloc(1), 1);
	return &f->base;
}
