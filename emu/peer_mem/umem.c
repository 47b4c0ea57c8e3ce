// SPDX-License-Identifier: GPL-2.0
#include <linux/err.h>
#include <linux/export.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include "core.h"
#include "device.h"
#include "umem.h"

enum {
	PATIENCE_S = 5,	/* timeout of an invalidation's wait, where a real core would deadlock */
};

struct shim_umem *shim_umem_new(void)
{
	/* reclaimable, as EMUGPU_GFP: not the memory that the client has just freed */
	struct shim_umem *u = kzalloc(sizeof(*u), GFP_KERNEL | __GFP_RECLAIMABLE);

	if (!u)
		return NULL;
	kref_init(&u->ref);
	mutex_init(&u->steps);
	sema_init(&u->mapping, 1);
	mutex_init(&u->dma);
	return u;
}

static void umem_free(struct kref *ref)
{
	kfree(container_of(ref, struct shim_umem, ref));
}

void shim_umem_get(struct shim_umem *u)
{
	kref_get(&u->ref);
}

void shim_umem_put(struct shim_umem *u)
{
	kref_put(&u->ref, umem_free);
}

/* ---- the calls of a client ------------------------------------------------------ */

static void umem_set_usable(struct shim_umem *u, bool usable)
{
	mutex_lock(&u->dma);	/* wait for a DMA in progress */
	u->usable = usable;
	mutex_unlock(&u->dma);
}

static struct scatterlist *umem_last(struct shim_umem *u)
{
	return sg_last(u->sgt.sgl, u->sgt.nents);
}

static void umem_move(struct scatterlist *sg, s64 head, s64 tail)
{
	sg_dma_address(sg) += head;
	sg_dma_len(sg) -= head + tail;
	sg->length -= head + tail;
}

/* The client's list has pages of the client's page size. Cuts the list to the CPU pages of the range. */
static void umem_cut(struct shim_umem *u)
{
	const struct peer_memory_client *calls = u->client->calls;
	unsigned long page = calls->get_page_size ? calls->get_page_size(u->context) : PAGE_SIZE;
	unsigned long end = u->addr + u->length;

	u->cut_head = ALIGN_DOWN(u->addr, PAGE_SIZE) - ALIGN_DOWN(u->addr, page);
	u->cut_tail = ALIGN(end, page) - ALIGN(end, PAGE_SIZE);
	umem_move(u->sgt.sgl, u->cut_head, 0);
	umem_move(umem_last(u), 0, u->cut_tail);
}

/* Restores the list, because the client checks the list. */
static void umem_uncut(struct shim_umem *u)
{
	umem_move(umem_last(u), 0, -(s64)u->cut_tail);
	umem_move(u->sgt.sgl, -(s64)u->cut_head, 0);
}

static void umem_call_unmap(struct shim_umem *u)
{
	umem_uncut(u);
	u->client->calls->dma_unmap(&u->sgt, u->context, u->dev);
	atomic_inc(&u->unmaps);
}

static void umem_call_put(struct shim_umem *u)
{
	u->client->calls->put_pages(&u->sgt, u->context);
	atomic_inc(&u->puts);
	memset(&u->sgt, 0, sizeof(u->sgt));
}

static void umem_forget(struct shim_umem *u)
{
	if (u->named)
		shim_client_forget(u->client, u->id);
	u->named = false;
}

static void umem_call_release(struct shim_umem *u)
{
	struct shim_client *c = u->client;

	if (!c)
		return;
	umem_forget(u);
	u->client = NULL;
	shim_client_release(c, u->context);
}

/* ---- invalidation --------------------------------------------------------------- */

static bool umem_leaves_unmapping(const struct shim_umem *u)
{
	return !(u->flags & IB_PEER_OLD_CORE) && shim_client_unmaps(u->client);
}

static void umem_tell(struct shim_umem *u)
{
	if (!u->mapped || !u->active)
		return;
	umem_set_usable(u, false);
	if (u->stop)
		u->stop(u->stop_context);
	atomic_inc(&u->told);
}

static void umem_invalidate_mapped(struct shim_umem *u)
{
	if (!u->mapped)
		return;
	u->mapped = false;
	if (umem_leaves_unmapping(u))
		return;
	umem_call_unmap(u);
	umem_call_put(u);
	if (u->flags & IB_PEER_RELEASES)
		umem_call_release(u);
}

void shim_umem_invalidate(struct shim_umem *u)
{
	atomic_inc(&u->invalidated);
	if (down_timeout(&u->mapping, PATIENCE_S * HZ)) {
		atomic_inc(&u->overdue);
		return;
	}
	umem_tell(u);
	umem_invalidate_mapped(u);
	up(&u->mapping);
}

/* ---- steps ---------------------------------------------------------------------- */

static int umem_acquire(struct shim_umem *u, u64 addr, u64 length, u32 flags)
{
	if (!length)
		return -EINVAL;
	u->addr = addr;
	u->length = length;
	u->flags = flags;
	u->client = shim_client_acquire(u->addr, u->length, !(u->flags & IB_PEER_NO_INVALIDATION),
					&u->context);
	if (!u->client)
		return -ENXIO;
	u->state = IB_PEER_ACQUIRED;
	return 0;
}

static int umem_name(struct shim_umem *u)
{
	int ret;

	if (!u->client->invalidates)
		return 0;
	ret = shim_client_name(u->client, u, &u->id);
	u->named = ret >= 0;
	return min(ret, 0);
}

static void umem_unpinned(struct shim_umem *u)
{
	umem_forget(u);
	up(&u->mapping);
	u->state = IB_PEER_PUT_BACK;
}

static int umem_get_pages(struct shim_umem *u)
{
	int ret;

	down(&u->mapping);
	ret = umem_name(u);
	if (!ret)
		ret = u->client->calls->get_pages(u->addr, u->length, 1, 0, NULL, u->context, u->id);
	if (ret)
		umem_unpinned(u);
	else
		u->state = IB_PEER_PINNED;
	return ret;
}

static int umem_dma_map(struct shim_umem *u, struct device *dev)
{
	int nmap = 0, ret;

	if (IS_ERR(dev))
		return PTR_ERR(dev);
	u->dev = dev;
	ret = u->client->calls->dma_map(&u->sgt, u->context, u->dev, 0, &nmap);
	if (ret) {
		umem_call_put(u);
		umem_unpinned(u);
		return ret;
	}
	u->sgt.nents = nmap;
	umem_cut(u);
	u->mapped = true;
	u->state = IB_PEER_MAPPED;
	return 0;
}

static int umem_activate(struct shim_umem *u)
{
	umem_set_usable(u, true);
	u->active = true;
	u->state = IB_PEER_ACTIVE;
	up(&u->mapping);
	return 0;
}

static int umem_put_unmapped(struct shim_umem *u)
{
	umem_call_put(u);
	umem_unpinned(u);
	return 0;
}

/* From STOP on, a client that itself unmaps in invalidate is called without @mapping held. */
static int umem_stop(struct shim_umem *u)
{
	umem_set_usable(u, false);
	if (u->state == IB_PEER_ACTIVE)
		down(&u->mapping);
	u->active = false;
	u->unmapping = u->mapped;
	u->mapped = false;
	u->unlocked = !u->client || umem_leaves_unmapping(u);
	if (u->unlocked)
		up(&u->mapping);
	u->state = IB_PEER_STOPPED;
	return 0;
}

static int umem_unmap(struct shim_umem *u)
{
	if (u->unmapping)
		umem_call_unmap(u);
	u->state = IB_PEER_UNMAPPED;
	return 0;
}

static int umem_put(struct shim_umem *u)
{
	if (u->unmapping)
		umem_call_put(u);
	if (!u->unlocked)
		up(&u->mapping);
	u->state = IB_PEER_PUT_BACK;
	return 0;
}

static int umem_release(struct shim_umem *u)
{
	umem_call_release(u);
	u->state = IB_PEER_RELEASED;
	return 0;
}

/* Makes step @op if it is the next step. */
static int umem_step(struct shim_umem *u, u32 op, const struct ib_peer *arg)
{
	if (u->state == IB_PEER_NEW && op == IB_PEER_ACQUIRE)
		return umem_acquire(u, arg->addr, arg->length, arg->flags);
	if (u->state == IB_PEER_ACQUIRED && op == IB_PEER_GET_PAGES)
		return umem_get_pages(u);
	if (u->state == IB_PEER_PINNED && op == IB_PEER_DMA_MAP)
		return umem_dma_map(u, shim_device(arg->device));
	if (u->state == IB_PEER_PINNED && op == IB_PEER_STOP)
		return umem_put_unmapped(u);
	if (u->state == IB_PEER_MAPPED && op == IB_PEER_ACTIVATE)
		return umem_activate(u);
	if ((u->state == IB_PEER_MAPPED || u->state == IB_PEER_ACTIVE) && op == IB_PEER_STOP)
		return umem_stop(u);
	if (u->state == IB_PEER_STOPPED && op == IB_PEER_UNMAP)
		return umem_unmap(u);
	if (u->state == IB_PEER_UNMAPPED && op == IB_PEER_PUT)
		return umem_put(u);
	if ((u->state == IB_PEER_ACQUIRED || u->state == IB_PEER_PUT_BACK) && op == IB_PEER_RELEASE)
		return umem_release(u);
	return -EINVAL;
}

/* Makes the remaining steps: umem_step() does nothing if @op is not the next step. */
static void umem_end(struct shim_umem *u)
{
	u32 op;

	for (op = IB_PEER_STOP; op <= IB_PEER_RELEASE; op++)
		umem_step(u, op, NULL);
}

static int umem_register(struct shim_umem *u, const struct ib_peer *arg)
{
	int ret = 0;
	u32 op;

	for (op = IB_PEER_ACQUIRE; op <= IB_PEER_ACTIVATE && !ret; op++)
		ret = umem_step(u, op, arg);
	if (ret)
		umem_end(u);
	return ret;
}

static int umem_deregister(struct shim_umem *u)
{
	if (u->state == IB_PEER_NEW || u->state == IB_PEER_RELEASED)
		return -EINVAL;
	umem_end(u);
	return 0;
}

static int umem_do(struct shim_umem *u, const struct ib_peer *arg)
{
	switch (arg->op) {
	case IB_PEER_REGISTER:
		return umem_register(u, arg);
	case IB_PEER_DEREGISTER:
		return umem_deregister(u);
	default:
		return umem_step(u, arg->op, arg);
	}
}

int shim_umem_step(struct shim_umem *u, const struct ib_peer *arg)
{
	int ret;

	mutex_lock(&u->steps);
	ret = umem_do(u, arg);
	mutex_unlock(&u->steps);
	return ret;
}

void shim_umem_end(struct shim_umem *u)
{
	umem_end(u);
}

/* ---- the driver of an adapter ------------------------------------------------------ */

struct shim_umem *ib_peer_umem_get(struct device *dev, u64 start, u64 length)
{
	struct shim_umem *u = shim_umem_new();
	int ret;

	if (!u)
		return ERR_PTR(-ENOMEM);
	ret = umem_acquire(u, start, length, 0);
	if (!ret)
		ret = umem_get_pages(u);
	if (!ret)
		ret = umem_dma_map(u, dev);
	if (!ret)
		return u;
	umem_end(u);
	shim_umem_put(u);
	return ERR_PTR(ret);
}
EXPORT_SYMBOL_GPL(ib_peer_umem_get);

struct sg_table *ib_peer_umem_table(struct shim_umem *u)
{
	return &u->sgt;
}
EXPORT_SYMBOL_GPL(ib_peer_umem_table);

void ib_peer_umem_activate(struct shim_umem *u, void (*stop)(void *context), void *context)
{
	u->stop = stop;
	u->stop_context = context;
	/* An invalidation waits for the lock, or does not wait any more: the memory may have a next owner. */
	if (atomic_read(&u->invalidated))
		stop(context);
	umem_activate(u);
}
EXPORT_SYMBOL_GPL(ib_peer_umem_activate);

void ib_peer_umem_release(struct shim_umem *u)
{
	umem_end(u);
	shim_umem_put(u);
}
EXPORT_SYMBOL_GPL(ib_peer_umem_release);
