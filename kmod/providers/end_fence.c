// SPDX-License-Identifier: GPL-2.0
#include <linux/dma-fence.h>
#include <linux/dma-resv.h>
#include <linux/module.h>
#include <linux/slab.h>
#include "end_fence.h"

/* Slots that the exporter may have reserved. A second reservation must include these slots. */
#define EXPORTERS_FENCES 64

/**
 * struct end_fence - see end_fence.h
 * @left: the fence was added to a reservation object, and holds the module
 */
struct end_fence {
	struct dma_fence base;
	spinlock_t lock;
	bool left;
};

static struct end_fence *end_fence_of(struct dma_fence *fence)
{
	return container_of(fence, struct end_fence, base);
}

static const char *end_fence_name(struct dma_fence *fence)
{
	return "peerpin";
}

/* module_put() is safe: unloading waits for an RCU grace period, hence for this softirq. */
static void end_fence_free(struct rcu_head *rcu)
{
	kfree(end_fence_of(container_of(rcu, struct dma_fence, rcu)));
	module_put(THIS_MODULE);
}

static void end_fence_release(struct dma_fence *fence)
{
	struct end_fence *f = end_fence_of(fence);

	if (f->left)
		call_rcu(&fence->rcu, end_fence_free);
	else
		kfree(f);
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
	spin_lock_init(&f->lock);
	dma_fence_init(&f->base, &end_fence_ops, &f->lock, dma_fence_context_alloc(1), 1);
	return &f->base;
}

int pp_end_fence_leave(struct dma_fence *fence, struct dma_resv *resv)
{
	int ret = dma_resv_reserve_fences(resv, 1 + EXPORTERS_FENCES);

	if (ret)
		return ret;
	__module_get(THIS_MODULE);
	end_fence_of(fence)->left = true;
	dma_resv_add_fence(resv, fence, DMA_RESV_USAGE_BOOKKEEP);
	return 0;
}
