// SPDX-License-Identifier: GPL-2.0
/*
 * The reference driver of a peer: /dev/lsiN is the copy engine of an LSI 53C895A. Its ioctl
 * copies between two sides, each in GPU or host memory: a region that userspace has pinned on
 * /dev/peerpin, or memory at a pointer, which this driver pins for the one copy.
 */
#include <linux/dma-mapping.h>
#include <linux/idr.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include "../uapi/peerpin_lsi.h"
#include "engine.h"

struct lsi {
	refcount_t ref;	/* held by the bound driver and by each open file */
	struct lsi_engine engine;
	struct peerpin_peer *peer;
	struct miscdevice misc;
	int index;
	char name[16];
	struct rw_semaphore life;	/* a reader that sees !@engine.dead may use @peer */
	struct mutex lock;	/* protects @engine: one copy at a time; taken after @life */
};

static DEFINE_IDA(lsi_ids);

struct lsi_side {
	struct peerpin_region *region;
	bool pinned;	/* @region is a pin of this driver; else a reference to a user's region */
	u64 offset;	/* of the first byte, from the start of @region */
	struct peerpin_attach *attach;
	struct peerpin_dma dma;
};

static int lsi_take(struct lsi_side *s, const struct peerpin_lsi_end *end, u64 length, bool pointer)
{
	const struct peerpin_range range = { .addr = end->offset, .length = length };

	if (pointer && (end->fd || end->region))
		return -EINVAL;
	s->pinned = pointer;
	s->region = pointer ? peerpin_region_pin(&range, NULL) :
			      peerpin_region_get(end->fd, end->region);
	if (IS_ERR(s->region))
		return PTR_ERR(s->region);
	s->offset = pointer ? end->offset - peerpin_region_start(s->region) : end->offset;
	return 0;
}

static void lsi_drop(struct lsi_side *s)
{
	if (!IS_ERR_OR_NULL(s->attach))
		peerpin_attach_put(s->attach);
	if (s->pinned)
		peerpin_region_unpin(s->region);
	else
		peerpin_region_put(s->region);
}

static int lsi_attach(struct lsi *lsi, struct lsi_side *s)
{
	lockdep_assert_held_read(&lsi->life);
	if (READ_ONCE(lsi->engine.dead))
		return -ENODEV;
	s->attach = peerpin_attach(lsi->peer, s->region);
	return PTR_ERR_OR_ZERO(s->attach);
}

static int lsi_transfer(struct lsi *lsi, struct lsi_side *dst, struct lsi_side *src,
			struct peerpin_lsi_copy *c)
{
	ktime_t start;
	int ret;

	lockdep_assert_held(&lsi->lock);
	if (dst->attach == src->attach &&
	    max(dst->offset, src->offset) - min(dst->offset, src->offset) < c->length)
		return -EINVAL;
	ret = peerpin_dma_begin(dst->attach, dst->offset, c->length, DMA_FROM_DEVICE, &dst->dma);
	if (ret)
		return ret;
	ret = peerpin_dma_begin(src->attach, src->offset, c->length, DMA_TO_DEVICE, &src->dma);
	if (ret)
		goto out_dst;
	start = ktime_get();
	ret = lsi_engine_run(&lsi->engine, &dst->dma, &src->dma);
	c->out_ns = ktime_to_ns(ktime_sub(ktime_get(), start));
	peerpin_dma_end(&src->dma);
out_dst:
	peerpin_dma_end(&dst->dma);
	return ret;
}

/*
 * Pin without any lock: userspace can delay a page fault for ever. A region of userspace may be a
 * dma-buf, whose exporter can delay peerpin_attach() until a signal arrives: attach without @lock.
 * Memory pinned here may need bounce buffers: attach with @lock, so only one copy uses them.
 */
static int lsi_copy(struct lsi *lsi, struct peerpin_lsi_copy *c)
{
	struct lsi_side dst = {}, src = {};
	int ret;

	ret = lsi_take(&dst, &c->dst, c->length, c->flags & PEERPIN_LSI_DST_POINTER);
	if (ret)
		return ret;
	ret = lsi_take(&src, &c->src, c->length, c->flags & PEERPIN_LSI_SRC_POINTER);
	if (ret)
		goto out_dst;
	ret = down_read_interruptible(&lsi->life);
	if (ret)
		goto out_src;
	if (!dst.pinned)
		ret = lsi_attach(lsi, &dst);
	if (!ret && !src.pinned)
		ret = lsi_attach(lsi, &src);
	if (!ret)
		ret = mutex_lock_interruptible(&lsi->lock);
	if (ret)
		goto out_life;
	if (dst.pinned)
		ret = lsi_attach(lsi, &dst);
	if (!ret && src.pinned)
		ret = lsi_attach(lsi, &src);
	if (!ret)
		ret = lsi_transfer(lsi, &dst, &src, c);
	mutex_unlock(&lsi->lock);
out_life:
	up_read(&lsi->life);
out_src:
	lsi_drop(&src);
out_dst:
	lsi_drop(&dst);
	return ret;
}

static void lsi_put(void *data)
{
	struct lsi *lsi = data;

	if (!refcount_dec_and_test(&lsi->ref))
		return;
	ida_free(&lsi_ids, lsi->index);
	kfree(lsi);
}

static int lsi_open(struct inode *inode, struct file *filp)
{
	struct lsi *lsi = container_of(filp->private_data, struct lsi, misc);

	refcount_inc(&lsi->ref);
	filp->private_data = lsi;
	return nonseekable_open(inode, filp);
}

static int lsi_release(struct inode *inode, struct file *filp)
{
	lsi_put(filp->private_data);
	return 0;
}

static long lsi_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	struct peerpin_lsi_copy __user *user = (void __user *)arg;
	struct peerpin_lsi_copy c;
	u32 size;
	int ret;

	if (cmd != PEERPIN_LSI_IOC_COPY)
		return -ENOTTY;
	if (get_user(size, &user->size))
		return -EFAULT;
	if (size < sizeof(c))
		return -EINVAL;
	if (size > PAGE_SIZE)
		return -E2BIG;
	ret = copy_struct_from_user(&c, sizeof(c), user, size);
	if (ret)
		return ret;
	if (c.flags & ~(PEERPIN_LSI_DST_POINTER | PEERPIN_LSI_SRC_POINTER))
		return -EOPNOTSUPP;
	ret = lsi_copy(filp->private_data, &c);
	return ret ?: put_user(c.out_ns, &user->out_ns);
}

static const struct file_operations lsi_fops = {
	.owner = THIS_MODULE,
	.open = lsi_open,
	.release = lsi_release,
	.unlocked_ioctl = lsi_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
};

static int lsi_setup(struct lsi *lsi, struct pci_dev *pdev)
{
	struct lsi_engine *e = &lsi->engine;
	int ret;

	ret = pcim_enable_device(pdev) ?: dma_set_mask_and_coherent(&pdev->dev, DMA_BIT_MASK(32));
	if (ret)
		return ret;
	dma_set_max_seg_size(&pdev->dev, LSI_MOVE_MAX);
	e->dev = &pdev->dev;
	init_completion(&e->done);
	e->script = dmam_alloc_coherent(e->dev, LSI_SCRIPT_BYTES, &e->script_bus, GFP_KERNEL);
	e->regs = pcim_iomap(pdev, LSI_BAR, 0);
	if (!e->script || !e->regs)
		return -ENOMEM;
	lsi_engine_reset(e);
	pci_set_master(pdev);	/* after the reset: a previous driver may have left a transfer */
	return devm_request_irq(e->dev, pdev->irq, lsi_engine_irq, IRQF_SHARED, lsi->name, e);
}

/* After remove, or if probe fails, devres undoes lsi_setup() in reverse, then calls lsi_put(). */
static int lsi_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct lsi *lsi = kzalloc(sizeof(*lsi), GFP_KERNEL);
	int ret;

	if (!lsi)
		return -ENOMEM;
	ret = ida_alloc(&lsi_ids, GFP_KERNEL);
	if (ret < 0) {
		kfree(lsi);
		return ret;
	}
	lsi->index = ret;
	refcount_set(&lsi->ref, 1);
	init_rwsem(&lsi->life);
	mutex_init(&lsi->lock);
	snprintf(lsi->name, sizeof(lsi->name), "lsi%d", lsi->index);
	lsi->misc.minor = MISC_DYNAMIC_MINOR;
	lsi->misc.name = lsi->name;
	lsi->misc.mode = 0666;	/* a copy reaches only memory that the caller has pinned */
	lsi->misc.fops = &lsi_fops;
	lsi->misc.parent = &pdev->dev;
	ret = devm_add_action_or_reset(&pdev->dev, lsi_put, lsi) ?: lsi_setup(lsi, pdev);
	if (ret)
		return ret;
	lsi->peer = peerpin_peer_register(&pdev->dev, NULL, NULL);
	if (IS_ERR(lsi->peer))
		return PTR_ERR(lsi->peer);
	pci_set_drvdata(pdev, lsi);
	ret = misc_register(&lsi->misc);
	if (ret)
		peerpin_peer_unregister(lsi->peer);
	return ret;
}

/* Open files keep @lsi; their copies return -ENODEV. A running copy starts no further script. */
static void lsi_remove(struct pci_dev *pdev)
{
	struct lsi *lsi = pci_get_drvdata(pdev);

	misc_deregister(&lsi->misc);
	WRITE_ONCE(lsi->engine.dead, true);
	down_write(&lsi->life);	/* wait until no thread is in peerpin_attach() */
	up_write(&lsi->life);
	peerpin_peer_unregister(lsi->peer);
	lsi_engine_reset(&lsi->engine);
}

static const struct pci_device_id lsi_pci_ids[] = {
	{ PCI_DEVICE(PCI_VENDOR_ID_LSI_LOGIC, PCI_DEVICE_ID_LSI_53C895A) },
	{}
};
MODULE_DEVICE_TABLE(pci, lsi_pci_ids);

static struct pci_driver lsi_driver = {
	.name = "peerpin_lsi",
	.id_table = lsi_pci_ids,
	.probe = lsi_probe,
	.remove = lsi_remove,
};

module_pci_driver(lsi_driver);
MODULE_DESCRIPTION("peerpin reference driver: LSI 53C895A copy engine");
MODULE_LICENSE("GPL");
