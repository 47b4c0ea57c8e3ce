// SPDX-License-Identifier: GPL-2.0
/*
 * An importer of dma-bufs. When the exporter moves or frees the memory, the MR ends: its driver would
 * map the memory again at an access, but Soft-RoCE cannot sleep then.
 */
#include <linux/dma-buf.h>
#include <linux/dma-resv.h>
#include <linux/err.h>
#include <linux/module.h>
#include <linux/slab.h>
#include "../common/node/compat.h"
#include "function.h"
#include "memory.h"

static bool pin_dmabuf;
module_param(pin_dmabuf, bool, 0644);
MODULE_PARM_DESC(pin_dmabuf, "pin dma-bufs at registration, as adapters do that cannot follow a move of the memory");

/**
 * struct dmabuf_memory - an attachment
 * @sgt: NULL: not mapped; under the reservation lock, as is @pinned
 */
struct dmabuf_memory {
	struct rdma_memory memory;
	struct dma_buf *dmabuf;
	struct dma_buf_attachment *attach;
	struct sg_table *sgt;
	bool pinned;
};

static void dmabuf_unmap_locked(struct dmabuf_memory *d)
{
	if (d->sgt)
		dma_buf_unmap_attachment(d->attach, d->sgt, DMA_BIDIRECTIONAL);
	d->sgt = NULL;
	if (d->pinned)
		dma_buf_unpin(d->attach);
	d->pinned = false;
}

/* The exporter holds the reservation lock. */
static void dmabuf_invalidated(struct dma_buf_attachment *attach)
{
	struct dmabuf_memory *d = attach->importer_priv;

	rdma_memory_invalidate(&d->memory);
	dmabuf_unmap_locked(d);
}

static const struct dma_buf_attach_ops dmabuf_ops = {
	.allow_peer2peer = true,
	.invalidate_mappings = dmabuf_invalidated,
};

static int dmabuf_map_locked(struct dmabuf_memory *d, u64 offset, u64 length)
{
	struct sg_table *sgt;
	int ret;

	if (pin_dmabuf) {
		ret = dma_buf_pin(d->attach);
		if (ret)
			return ret;
		d->pinned = true;
	}
	sgt = dma_buf_map_attachment(d->attach, DMA_BIDIRECTIONAL);
	if (IS_ERR(sgt))
		return PTR_ERR(sgt);
	d->sgt = sgt;
	if (rdma_function_bounces(d->memory.function, sgt))
		return -EIO;
	ret = rdma_memory_fill(&d->memory, sgt, offset, length);
	if (ret)
		return ret;
	/* The exporter may still be moving the memory to where it is now. */
	if (dma_resv_wait_timeout(d->dmabuf->resv, DMA_RESV_USAGE_KERNEL, true, MAX_SCHEDULE_TIMEOUT) < 0)
		return -EINTR;
	d->memory.valid = true;
	return 0;
}

static void dmabuf_release(struct rdma_memory *m)
{
	struct dmabuf_memory *d = container_of(m, struct dmabuf_memory, memory);

	dma_resv_lock(d->dmabuf->resv, NULL);
	dmabuf_unmap_locked(d);
	dma_resv_unlock(d->dmabuf->resv);
	dma_buf_detach(d->dmabuf, d->attach);
	dma_buf_put(d->dmabuf);
	kfree(d);
}

static struct dmabuf_memory *dmabuf_attach(struct rdma_function *f, struct dma_buf *dmabuf)
{
	struct dmabuf_memory *d = kzalloc(sizeof(*d), GFP_KERNEL);
	int ret;

	if (!d)
		return ERR_PTR(-ENOMEM);
	d->memory.function = f;
	d->memory.release = dmabuf_release;
	d->dmabuf = dmabuf;
	d->attach = dma_buf_dynamic_attach(dmabuf, rdma_function_device(f), &dmabuf_ops, d);
	if (!IS_ERR(d->attach))
		return d;
	ret = PTR_ERR(d->attach);
	kfree(d);
	return ERR_PTR(ret);
}

struct rdma_memory *rdma_memory_dmabuf(struct rdma_function *f, int fd, u64 offset, u64 length)
{
	struct dma_buf *dmabuf = dma_buf_get(fd);
	struct dmabuf_memory *d;
	int ret;

	if (IS_ERR(dmabuf))
		return ERR_CAST(dmabuf);
	if (!length || offset > dmabuf->size || length > dmabuf->size - offset) {
		dma_buf_put(dmabuf);
		return ERR_PTR(-EINVAL);
	}
	d = dmabuf_attach(f, dmabuf);
	if (IS_ERR(d)) {
		dma_buf_put(dmabuf);
		return ERR_CAST(d);
	}
	dma_resv_lock(dmabuf->resv, NULL);
	ret = dmabuf_map_locked(d, offset, length);
	dma_resv_unlock(dmabuf->resv);
	if (ret) {
		rdma_memory_free(&d->memory);
		return ERR_PTR(ret);
	}
	return &d->memory;
}

MODULE_IMPORT_NS("DMA_BUF");
