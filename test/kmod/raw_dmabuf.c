// SPDX-License-Identifier: GPL-2.0
/*
 * An exporter of one page, for tests. Module parameters control each mapping and each revocation:
 * - @bus: bus address listed for every device; 0: map the page for the device
 * - @others: number of other users, each with a fence, when the page is revoked
 * - @copies: number of copy engines, each with a fence, when the page is revoked
 */
#include <linux/dma-buf.h>
#include <linux/dma-fence.h>
#include <linux/dma-mapping.h>
#include <linux/dma-resv.h>
#include <linux/err.h>
#include <linux/fcntl.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>

#include "../../emu/common/node/compat.h"
#include "raw_dmabuf.h"

MODULE_IMPORT_NS("DMA_BUF");

#define TAKE_JIFFIES (10 * HZ)

static unsigned long long bus;
module_param(bus, ullong, 0644);

static unsigned int others;
module_param(others, uint, 0644);

static unsigned int copies = 1;
module_param(copies, uint, 0644);

static struct sg_table *raw_table(void)
{
	struct sg_table *sgt = kzalloc(sizeof(*sgt), GFP_KERNEL);

	if (!sgt || sg_alloc_table(sgt, 1, GFP_KERNEL)) {
		kfree(sgt);
		return ERR_PTR(-ENOMEM);
	}
	return sgt;
}

static void raw_free(struct sg_table *sgt)
{
	sg_free_table(sgt);
	kfree(sgt);
}

static struct sg_table *raw_map(struct dma_buf_attachment *attach, enum dma_data_direction dir)
{
	struct sg_table *sgt = raw_table();
	int err;

	if (IS_ERR(sgt))
		return sgt;
	sg_dma_address(sgt->sgl) = bus;
	sg_dma_len(sgt->sgl) = attach->dmabuf->size;
	if (bus)
		return sgt;
	sg_set_page(sgt->sgl, attach->dmabuf->priv, PAGE_SIZE, 0);
	err = dma_map_sgtable(attach->dev, sgt, dir, 0);
	if (!err)
		return sgt;
	raw_free(sgt);
	return ERR_PTR(err);
}

static void raw_unmap(struct dma_buf_attachment *attach, struct sg_table *sgt, enum dma_data_direction dir)
{
	if (sg_page(sgt->sgl))
		dma_unmap_sgtable(attach->dev, sgt, dir, 0);
	raw_free(sgt);
}

static void raw_release(struct dma_buf *dmabuf)
{
	__free_page(dmabuf->priv);
}

static const struct dma_buf_ops raw_ops = {
	.map_dma_buf = raw_map,
	.unmap_dma_buf = raw_unmap,
	.release = raw_release,
};

static long raw_new(void)
{
	DEFINE_DMA_BUF_EXPORT_INFO(info);
	struct page *page = alloc_page(GFP_KERNEL | __GFP_ZERO);
	struct dma_buf *dmabuf;
	int fd;

	if (!page)
		return -ENOMEM;
	info.ops = &raw_ops;
	info.size = PAGE_SIZE;
	info.flags = O_RDWR | O_CLOEXEC;
	info.priv = page;
	dmabuf = dma_buf_export(&info);
	if (IS_ERR(dmabuf)) {
		__free_page(page);
		return PTR_ERR(dmabuf);
	}
	fd = dma_buf_fd(dmabuf, O_CLOEXEC);
	if (fd < 0)
		dma_buf_put(dmabuf);
	return fd;
}

static const char *raw_name(struct dma_fence *fence)
{
	return "raw_dmabuf";
}

static const struct dma_fence_ops raw_fence_ops = {
	.get_driver_name = raw_name,
	.get_timeline_name = raw_name,
};

static DEFINE_SPINLOCK(raw_fence_lock);

static struct dma_fence *raw_fence_new(void)
{
	struct dma_fence *fence = kzalloc(sizeof(*fence), GFP_KERNEL | __GFP_NOFAIL);

	dma_fence_init(fence, &raw_fence_ops, &raw_fence_lock, dma_fence_context_alloc(1), 1);
	return fence;
}

static void raw_use(struct dma_resv *resv, struct dma_fence *fence)
{
	if (!dma_resv_reserve_fences(resv, 1))
		dma_resv_add_fence(resv, fence, DMA_RESV_USAGE_BOOKKEEP);
}

static unsigned int raw_fences_new(struct dma_fence **fences, unsigned int n)
{
	unsigned int i;

	n = min_t(unsigned int, n, RAW_DMABUF_MOST);
	for (i = 0; i < n; i++)
		fences[i] = raw_fence_new();
	return n;
}

static void raw_fences_end(struct dma_fence **fences, unsigned int n)
{
	while (n--) {
		dma_fence_signal(fences[n]);
		dma_fence_put(fences[n]);
	}
}

/* Like drivers that move memory: reserve slots for the copy fences before move_notify. */
static int raw_move(struct dma_buf *dmabuf)
{
	struct dma_fence *engines[RAW_DMABUF_MOST];
	unsigned int i, n = raw_fences_new(engines, READ_ONCE(copies));
	int err = dma_resv_reserve_fences(dmabuf->resv, n);

	if (!err) {
		dma_buf_invalidate_mappings(dmabuf);
		for (i = 0; i < n; i++)
			dma_resv_add_fence(dmabuf->resv, engines[i], DMA_RESV_USAGE_KERNEL);
	}
	raw_fences_end(engines, n);
	return err;
}

static int raw_move_used(struct dma_buf *dmabuf)
{
	struct dma_fence *users[RAW_DMABUF_MOST];
	unsigned int i, n = raw_fences_new(users, READ_ONCE(others));
	int err;

	for (i = 0; i < n; i++)
		raw_use(dmabuf->resv, users[i]);
	err = raw_move(dmabuf);
	raw_fences_end(users, n);
	return err;
}

/* Hold the reservation lock all the time, like some drivers. Returns 1 if there was a fence to wait for, else 0. */
static long take_locked(struct dma_buf *dmabuf)
{
	int err = raw_move_used(dmabuf);

	if (err)
		return err;
	if (dma_resv_test_signaled(dmabuf->resv, DMA_RESV_USAGE_BOOKKEEP))
		return 0;
	return dma_resv_wait_timeout(dmabuf->resv, DMA_RESV_USAGE_BOOKKEEP, false, TAKE_JIFFIES) > 0 ? 1 : -ETIMEDOUT;
}

static long raw_take(int fd)
{
	struct dma_buf *dmabuf = dma_buf_get(fd);
	long ret;

	if (IS_ERR(dmabuf))
		return PTR_ERR(dmabuf);
	dma_resv_lock(dmabuf->resv, NULL);
	ret = take_locked(dmabuf);
	dma_resv_unlock(dmabuf->resv);
	dma_buf_put(dmabuf);
	return ret;
}

static struct dma_fence *moving;

static int raw_move_locked(struct dma_resv *resv)
{
	int err = dma_resv_reserve_fences(resv, 1);

	if (err)
		return err;
	moving = raw_fence_new();
	dma_resv_add_fence(resv, moving, DMA_RESV_USAGE_KERNEL);
	return 0;
}

static long raw_move_long(int fd)
{
	struct dma_buf *dmabuf = dma_buf_get(fd);
	int err;

	if (IS_ERR(dmabuf))
		return PTR_ERR(dmabuf);
	dma_resv_lock(dmabuf->resv, NULL);
	err = raw_move_locked(dmabuf->resv);
	dma_resv_unlock(dmabuf->resv);
	dma_buf_put(dmabuf);
	return err;
}

static long raw_moved(void)
{
	dma_fence_signal(moving);
	dma_fence_put(moving);
	return 0;
}

static long raw_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	switch (cmd) {
	case RAW_DMABUF_NEW:
		return raw_new();
	case RAW_DMABUF_TAKE:
		return raw_take(arg);
	case RAW_DMABUF_MOVE:
		return raw_move_long(arg);
	case RAW_DMABUF_MOVED:
		return raw_moved();
	default:
		return -ENOTTY;
	}
}

static const struct file_operations raw_fops = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = raw_ioctl,
};

static struct miscdevice raw_node = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "raw_dmabuf",
	.fops = &raw_fops,
};
module_misc_device(raw_node);

MODULE_DESCRIPTION("dma-bufs with any address, for tests");
MODULE_LICENSE("GPL");
