// SPDX-License-Identifier: GPL-2.0
/*
 * A dynamic importer. The exporter calls buffer_invalidated() with the reservation lock held. When it
 * returns, the engine does not use the memory, because the engine runs each script under its lock. The
 * next copy maps the buffer again, which fails if the memory was revoked.
 */
#include <linux/dma-buf.h>
#include <linux/dma-resv.h>
#include <linux/err.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <compat.h>
#include "buffer.h"
#include "chip.h"

MODULE_IMPORT_NS("DMA_BUF");

static void buffer_set_valid(struct buffer *b, bool valid)
{
	mutex_lock(&b->chip->engine.lock);
	b->valid = valid;
	mutex_unlock(&b->chip->engine.lock);
}

static void buffer_unmap_locked(struct buffer *b)
{
	dma_resv_assert_held(b->dmabuf->resv);
	buffer_set_valid(b, false);
	if (b->sgt)
		dma_buf_unmap_attachment(b->attach, b->sgt, DMA_BIDIRECTIONAL);
	b->sgt = NULL;
}

static void buffer_invalidated(struct dma_buf_attachment *attach)
{
	buffer_unmap_locked(attach->importer_priv);
}

static const struct dma_buf_attach_ops buffer_ops = {
	.allow_peer2peer = true,
	.invalidate_mappings = buffer_invalidated,
};

/* The exporter may still be moving the memory to its place: its fence says when that has ended. */
static int buffer_map_locked(struct buffer *b)
{
	struct sg_table *sgt;

	if (b->sgt)
		return 0;
	sgt = dma_buf_map_attachment(b->attach, DMA_BIDIRECTIONAL);
	if (IS_ERR(sgt))
		return PTR_ERR(sgt) == -ENODEV ? -ESTALE : PTR_ERR(sgt);
	b->sgt = sgt;
	if (dma_resv_wait_timeout(b->dmabuf->resv, DMA_RESV_USAGE_KERNEL, true, MAX_SCHEDULE_TIMEOUT) < 0) {
		buffer_unmap_locked(b);
		return -EINTR;
	}
	buffer_set_valid(b, true);
	return 0;
}

static int buffer_map_attached(struct buffer *b)
{
	int ret;

	if (!b->attach)
		return -ENODEV;
	dma_resv_lock(b->dmabuf->resv, NULL);
	ret = buffer_map_locked(b);
	dma_resv_unlock(b->dmabuf->resv);
	return ret;
}

int buffer_map(struct buffer *b)
{
	int ret;

	mutex_lock(&b->chip->lock);
	ret = buffer_map_attached(b);
	mutex_unlock(&b->chip->lock);
	return ret;
}

static void buffer_detach(struct buffer *b)
{
	lockdep_assert_held(&b->chip->lock);
	if (!b->attach)
		return;
	dma_resv_lock(b->dmabuf->resv, NULL);
	buffer_unmap_locked(b);
	dma_resv_unlock(b->dmabuf->resv);
	dma_buf_detach(b->dmabuf, b->attach);
	b->attach = NULL;
}

static int buffer_attach(struct buffer *b)
{
	struct dma_buf_attachment *attach;

	if (b->chip->dead)
		return -ENODEV;
	attach = dma_buf_dynamic_attach(b->dmabuf, &b->chip->pdev->dev, &buffer_ops, b);
	if (IS_ERR(attach))
		return PTR_ERR(attach);
	b->attach = attach;
	list_add(&b->in_chip, &b->chip->buffers);
	return 0;
}

static void buffer_release(struct kref *ref)
{
	struct buffer *b = container_of(ref, struct buffer, ref);

	mutex_lock(&b->chip->lock);
	buffer_detach(b);
	list_del(&b->in_chip);
	mutex_unlock(&b->chip->lock);
	dma_buf_put(b->dmabuf);
	kfree(b);
}

void buffer_put(struct buffer *b)
{
	kref_put(&b->ref, buffer_release);
}

static struct buffer *buffer_new(struct chip *chip, struct dma_buf *dmabuf)
{
	struct buffer *b = kzalloc(sizeof(*b), GFP_KERNEL);
	int ret;

	if (!b)
		return ERR_PTR(-ENOMEM);
	kref_init(&b->ref);
	b->chip = chip;
	b->dmabuf = dmabuf;
	mutex_lock(&chip->lock);
	ret = buffer_attach(b);
	mutex_unlock(&chip->lock);
	if (!ret)
		return b;
	kfree(b);
	return ERR_PTR(ret);
}

struct buffer *buffer_import(struct chip *chip, int fd)
{
	struct dma_buf *dmabuf = dma_buf_get(fd);
	struct buffer *b;
	int ret;

	if (IS_ERR(dmabuf))
		return ERR_CAST(dmabuf);
	b = buffer_new(chip, dmabuf);
	if (IS_ERR(b)) {
		dma_buf_put(dmabuf);
		return b;
	}
	ret = buffer_map(b);
	if (!ret)
		return b;
	buffer_put(b);
	return ERR_PTR(ret);
}

bool buffer_has(const struct buffer *b, u64 offset, u64 length)
{
	return length && offset < b->dmabuf->size && length <= b->dmabuf->size - offset;
}

u32 buffer_bus(const struct buffer *b, u64 offset, u64 *left)
{
	struct scatterlist *sg;
	int i;

	lockdep_assert_held(&b->chip->engine.lock);
	for_each_sgtable_dma_sg(b->sgt, sg, i) {
		if (offset < sg_dma_len(sg))
			break;
		offset -= sg_dma_len(sg);
	}
	*left = sg_dma_len(sg) - offset;
	return sg_dma_address(sg) + offset;
}

void buffers_detach(struct chip *chip)
{
	struct buffer *b;

	lockdep_assert_held(&chip->lock);
	list_for_each_entry(b, &chip->buffers, in_chip)
		buffer_detach(b);
}
