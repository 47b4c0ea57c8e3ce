// SPDX-License-Identifier: GPL-2.0
/*
 * An exporter that lists for every device the address that its parameter says, whether
 * the device reaches it or not. An ioctl of its node, any, gives a dma-buf.
 */
#include <linux/dma-buf.h>
#include <linux/err.h>
#include <linux/fcntl.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>

#include "../../emu/kmod/compat.h"

MODULE_IMPORT_NS("DMA_BUF");

static unsigned long long bus;
module_param(bus, ullong, 0644);

static struct sg_table *raw_map(struct dma_buf_attachment *attach, enum dma_data_direction dir)
{
	struct sg_table *sgt = kzalloc(sizeof(*sgt), GFP_KERNEL);

	if (!sgt || sg_alloc_table(sgt, 1, GFP_KERNEL)) {
		kfree(sgt);
		return ERR_PTR(-ENOMEM);
	}
	sg_dma_address(sgt->sgl) = bus;
	sg_dma_len(sgt->sgl) = attach->dmabuf->size;
	return sgt;
}

static void raw_unmap(struct dma_buf_attachment *attach, struct sg_table *sgt, enum dma_data_direction dir)
{
	sg_free_table(sgt);
	kfree(sgt);
}

static void raw_release(struct dma_buf *dmabuf)
{
}

static const struct dma_buf_ops raw_ops = {
	.map_dma_buf = raw_map,
	.unmap_dma_buf = raw_unmap,
	.release = raw_release,
};

static long raw_new(struct file *file, unsigned int cmd, unsigned long arg)
{
	DEFINE_DMA_BUF_EXPORT_INFO(info);
	struct dma_buf *dmabuf;
	int fd;

	info.ops = &raw_ops;
	info.size = PAGE_SIZE;
	info.flags = O_RDWR | O_CLOEXEC;
	info.priv = &bus;
	dmabuf = dma_buf_export(&info);
	if (IS_ERR(dmabuf))
		return PTR_ERR(dmabuf);
	fd = dma_buf_fd(dmabuf, O_CLOEXEC);
	if (fd < 0)
		dma_buf_put(dmabuf);
	return fd;
}

static const struct file_operations raw_fops = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = raw_new,
};

static struct miscdevice raw_node = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "raw_dmabuf",
	.fops = &raw_fops,
};
module_misc_device(raw_node);

MODULE_DESCRIPTION("dma-bufs of any address, for tests");
MODULE_LICENSE("GPL");
