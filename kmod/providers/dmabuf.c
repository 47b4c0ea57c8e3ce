// SPDX-License-Identifier: GPL-2.0
/*
 * Memory of a dma-buf. Only the exporter can map the memory, for one device at a time. So a pin is
 * a reference to the dma-buf. Some exporters keep the memory as long as the dma-buf. Other
 * exporters call invalidate_mappings() (move_notify() before 7.1) of each importer before they move
 * or free the memory. Without an attachment such exporters call nothing; the next attach or map
 * then fails.
 *
 * The exporter calls us with the reservation lock held, and unmapping takes this lock. So the
 * callback revokes all regions and waits for DMA in flight; a work item takes the lock and unmaps.
 * If DMA exceeds drain_timeout_ms, the callback adds a fence to the reservation object. The
 * exporter must keep the memory until the fence is signalled. free() puts the fence, not unpin(): a
 * mapping can outlive unpin(), and refers to struct dmabuf_pin.
 *
 * invalidate_mappings() makes our attachments revocable (Linux 7.1). An exporter such as VFIO then waits,
 * without its lock and without a limit, until we have unmapped. The work item needs only that lock.
 */
#include <linux/dma-buf.h>
#include <linux/dma-fence.h>
#include <linux/dma-resv.h>
#include <linux/err.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include "../compat/compat.h"
#include "dmabuf.h"
#include "end_fence.h"

MODULE_IMPORT_NS("DMA_BUF");

/**
 * struct dmabuf_pin - the private part of a region of a dma-buf
 * @lock: protects @dmabuf
 * @dmabuf: the dma-buf, with a reference; NULL after release or unpin
 * @cookie: cookie of the region
 * @revoked: the exporter has revoked the region; under the reservation lock
 * @end: fence, signalled when @dmabuf is put, that is after the last DMA
 */
struct dmabuf_pin {
	spinlock_t lock;
	struct dma_buf *dmabuf;
	unsigned long cookie;
	bool revoked;
	struct dma_fence *end;
};

/**
 * struct dmabuf_mapping - mapping for one device; holds a reference to the dma-buf
 * @pin: private part of the region; the core's attachment keeps the region
 * @mapped: @sgt is valid; under the reservation lock
 */
struct dmabuf_mapping {
	struct dmabuf_pin *pin;
	struct dma_buf_attachment *attach;
	struct sg_table *sgt;
	bool mapped;
};

static void dmabuf_notified(struct dma_buf_attachment *attach);

static const struct dma_buf_attach_ops dmabuf_importer = {
	.allow_peer2peer = true,
	.invalidate_mappings = dmabuf_notified,
};

/* The pin of @attach. NULL: @attach is another importer's, is not mapped, or was revoked before */
static struct dmabuf_pin *pin_to_revoke(struct dma_buf_attachment *attach)
{
	struct dmabuf_mapping *m = attach->importer_priv;

	if (attach->importer_ops != &dmabuf_importer || !m->mapped || m->pin->revoked)
		return NULL;
	return m->pin;
}

static void pin_revoke(struct dmabuf_pin *p, struct dma_resv *resv, unsigned long deadline)
{
	p->revoked = true;
	/* if the reservation object has no memory for the fence, wait here without a timeout */
	if (!pp_revoke_until(p->cookie, deadline) && pp_end_fence_leave(p->end, resv))
		dma_fence_wait(p->end, false);
}

/* Stop the drivers of all regions before the first wait: one timeout then bounds all regions. */
static void dmabuf_revoke(struct dma_buf *dmabuf)
{
	unsigned long deadline = pp_revoke_deadline();
	struct dma_buf_attachment *attach;
	struct dmabuf_pin *p;

	list_for_each_entry(attach, &dmabuf->attachments, node) {
		p = pin_to_revoke(attach);
		if (p)
			pp_revoke_soon(p->cookie);
	}
	list_for_each_entry(attach, &dmabuf->attachments, node) {
		p = pin_to_revoke(attach);
		if (p)
			pin_revoke(p, dmabuf->resv, deadline);
	}
}

/*
 * The exporter calls this for each attachment. The first call for a mapped attachment revokes all
 * regions. Mapping may also make the exporter move the memory and call this: a call for an
 * attachment that is not mapped yet ends no region.
 */
static void dmabuf_notified(struct dma_buf_attachment *attach)
{
	dma_resv_assert_held(attach->dmabuf->resv);
	if (pin_to_revoke(attach))
		dmabuf_revoke(attach->dmabuf);
}

/* ---- mappings ------------------------------------------------------------------ */

/* Wait for the exporter's fences: the exporter may still be moving the memory to its new place. */
static int mapping_wait(struct dma_resv *resv)
{
	long ret = dma_resv_wait_timeout(resv, DMA_RESV_USAGE_KERNEL, true,
					 MAX_SCHEDULE_TIMEOUT);

	return min(ret, 0L);
}

static void mapping_undo(struct dmabuf_mapping *m)
{
	struct dma_resv *resv = m->attach->dmabuf->resv;

	dma_resv_lock(resv, NULL);
	m->mapped = false;
	dma_buf_unmap_attachment(m->attach, m->sgt, DMA_BIDIRECTIONAL);
	dma_resv_unlock(resv);
}

static int mapping_make(struct dmabuf_mapping *m)
{
	struct dma_resv *resv = m->attach->dmabuf->resv;
	int ret;

	ret = dma_resv_lock_interruptible(resv, NULL);
	if (ret)
		return ret;
	m->sgt = dma_buf_map_attachment(m->attach, DMA_BIDIRECTIONAL);
	m->mapped = !IS_ERR(m->sgt);
	dma_resv_unlock(resv);
	if (IS_ERR(m->sgt))
		return PTR_ERR(m->sgt);
	ret = mapping_wait(resv);
	if (ret)
		mapping_undo(m);
	return ret;
}

static struct dmabuf_mapping *mapping_new(struct dmabuf_pin *p,
					  struct dma_buf *dmabuf,
					  struct device *dev)
{
	struct dmabuf_mapping *m = kzalloc(sizeof(*m), GFP_KERNEL_ACCOUNT);
	int ret;

	if (!m)
		return ERR_PTR(-ENOMEM);
	m->pin = p;
	m->attach = dma_buf_dynamic_attach(dmabuf, dev, &dmabuf_importer, m);
	ret = PTR_ERR_OR_ZERO(m->attach);
	if (ret)
		goto err_free;
	ret = mapping_make(m);
	if (ret)
		goto err_detach;
	return m;

err_detach:
	dma_buf_detach(dmabuf, m->attach);
err_free:
	kfree(m);
	return ERR_PTR(ret);
}

/* A new reference to the dma-buf; NULL after release or unpin */
static struct dma_buf *dmabuf_get(struct dmabuf_pin *p)
{
	struct dma_buf *dmabuf;

	spin_lock(&p->lock);
	dmabuf = p->dmabuf;
	if (dmabuf)
		get_dma_buf(dmabuf);
	spin_unlock(&p->lock);
	return dmabuf;
}

/* Userspace does not know ENOTSUPP and ERESTARTSYS, which exporters return. */
static int error_for_users(int err)
{
	switch (err) {
	case -ENOTSUPP:
		return -EOPNOTSUPP;
	case -ERESTARTSYS:
		return -EINTR;
	default:
		return err;
	}
}

static void *dmabuf_map(void *priv, struct device *dev, struct sg_table **sgt)
{
	struct dma_buf *dmabuf = dmabuf_get(priv);
	struct dmabuf_mapping *m;

	if (!dmabuf)
		return ERR_PTR(-ESTALE);
	m = mapping_new(priv, dmabuf, dev);
	if (!IS_ERR(m)) {
		*sgt = m->sgt;
		return m;
	}
	dma_buf_put(dmabuf);
	return ERR_PTR(error_for_users(PTR_ERR(m)));
}

static void dmabuf_unmap(void *mapping)
{
	struct dmabuf_mapping *m = mapping;
	struct dma_buf *dmabuf = m->attach->dmabuf;

	mapping_undo(m);
	dma_buf_detach(dmabuf, m->attach);
	dma_buf_put(dmabuf);
	kfree(m);
}

/* ---- the pin ---------------------------------------------------------------------- */

static bool dmabuf_holds(const struct dma_buf *dmabuf, const struct pp_request *req)
{
	return req->addr <= dmabuf->size &&
	       req->length <= dmabuf->size - req->addr;
}

static int dmabuf_pin(void *priv, const struct pp_request *req,
		      struct pp_why *why)
{
	struct dmabuf_pin *p = priv;
	struct dma_buf *dmabuf;

	if (req->p2p_token || req->va_space_token)
		return -EINVAL;
	dmabuf = dma_buf_get(req->fd);
	if (IS_ERR(dmabuf)) {
		why->reason = PEERPIN_REASON_NOT_DMABUF;
		return -EBADF;
	}
	if (!dmabuf_holds(dmabuf, req)) {
		dma_buf_put(dmabuf);
		return -EINVAL;
	}
	p->end = pp_end_fence_new();
	if (!p->end) {
		dma_buf_put(dmabuf);
		why->reason = PEERPIN_REASON_NO_MEMORY;
		return -ENOMEM;
	}
	spin_lock_init(&p->lock);
	p->dmabuf = dmabuf;
	p->cookie = req->cookie;
	return 0;
}

/*
 * release and unpin: the first call puts the dma-buf. The caller may hold the reservation lock,
 * because the kernel defers the release of a file to task work or a kernel thread.
 */
static void dmabuf_give_back(void *priv)
{
	struct dmabuf_pin *p = priv;
	struct dma_buf *dmabuf;

	spin_lock(&p->lock);
	dmabuf = p->dmabuf;
	p->dmabuf = NULL;
	spin_unlock(&p->lock);
	dma_fence_signal(p->end);
	if (dmabuf)
		dma_buf_put(dmabuf);
}

static void dmabuf_free(void *priv)
{
	struct dmabuf_pin *p = priv;

	dma_fence_put(p->end);
}

const struct pp_provider pp_dmabuf_provider = {
	.owner = THIS_MODULE,
	.name = "dmabuf",
	.id = PEERPIN_PROVIDER_DMABUF,
	.page_size = PAGE_SIZE,
	.exact = true,
	.priv_size = sizeof(struct dmabuf_pin),
	.pin = dmabuf_pin,
	.map = dmabuf_map,
	.unmap = dmabuf_unmap,
	.release = dmabuf_give_back,
	.unpin = dmabuf_give_back,
	.free = dmabuf_free,
};
