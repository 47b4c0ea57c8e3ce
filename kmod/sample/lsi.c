// SPDX-License-Identifier: GPL-2.0
/*
 * The reference third-party driver: the copy engine of an LSI 53C895A as
 * /dev/lsiN. One ioctl copies between any two places, GPU or host memory on
 * either side: regions that userspace has made on /dev/peerpin, or pointers,
 * which are pinned for the copy. All that concerns peerpin lies between
 * struct lsi_side and lsi_copy(); the rest is what every PCI driver has.
 */
#include <linux/dma-mapping.h>
#include <linux/idr.h>
#include <linux/interrupt.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/rwsem.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <peerpin.h>
#include "../uapi/peerpin_lsi.h"
#include "engine.h"

enum {
	LSI_BAR = 1,
};

struct lsi {
	struct kref ref;	/* the driver's and each open file's */
	struct pci_dev *pdev;
	struct lsi_engine engine;
	struct peerpin_peer *peer;
	struct miscdevice misc;
	int index;
	char name[16];
	struct rw_semaphore life;	/* to read: who looked at @engine.dead may use @peer */
	struct mutex lock;	/* the engine: one copy at a time */
};

static DEFINE_IDA(lsi_ids);

/*
 * struct lsi_side - one side of a copy
 * @pinned: the region is ours, else a reference to the user's
 * @offset: of the copied bytes in it
 */
struct lsi_side {
	struct peerpin_region *region;
	bool pinned;
	u64 offset;
	struct peerpin_attach *attach;
	struct lsi_cursor cursor;
};

static int lsi_find(struct lsi_side *s, const struct peerpin_lsi_end *end)
{
	s->region = peerpin_region_get(end->fd, end->region);
	s->offset = end->offset;
	return PTR_ERR_OR_ZERO(s->region);
}

static int lsi_pin(struct lsi_side *s, const struct peerpin_lsi_end *end,
		   u64 length)
{
	const struct peerpin_range range = {
		.addr = end->offset,
		.length = length,
	};

	if (end->fd || end->region)
		return -EINVAL;
	s->region = peerpin_region_pin(&range, NULL);
	if (IS_ERR(s->region))
		return PTR_ERR(s->region);
	s->pinned = true;
	s->offset = end->offset - peerpin_region_start(s->region);
	return 0;
}

static void lsi_let_go(struct lsi_side *s)
{
	if (s->pinned)
		peerpin_region_unpin(s->region);
	else
		peerpin_region_put(s->region);
}

static int lsi_take(struct lsi_side *s, const struct peerpin_lsi_end *end,
		    u64 length, bool pointer)
{
	return pointer ? lsi_pin(s, end, length) : lsi_find(s, end);
}

static int lsi_attach(struct lsi *lsi, struct lsi_side *s)
{
	struct peerpin_attach *attach;

	if (s->attach)
		return 0;
	attach = peerpin_attach(lsi->peer, s->region);
	if (IS_ERR(attach))
		return PTR_ERR(attach);
	s->attach = attach;
	return 0;
}

/*
 * The exporter of a dma-buf lets this wait for as long as it likes: the engine is for
 * others meanwhile, and a signal ends it. What we have pinned is no dma-buf, and may
 * take bounce buffers: as much as one copy needs at a time.
 */
static int lsi_attach_early(struct lsi *lsi, struct lsi_side *s)
{
	return s->pinned ? 0 : lsi_attach(lsi, s);
}

static void lsi_detach(struct lsi_side *s)
{
	if (s->attach)
		peerpin_attach_put(s->attach);
}

static int lsi_begin(struct lsi_side *s, u64 length, enum dma_data_direction dir)
{
	return peerpin_dma_begin(s->attach, s->offset, length, dir,
				 &s->cursor.dma);
}

static int lsi_transfer(struct lsi *lsi, struct lsi_side *dst,
			struct lsi_side *src, struct peerpin_lsi_copy *c)
{
	ktime_t start;
	int ret;

	ret = lsi_begin(dst, c->length, DMA_FROM_DEVICE);
	if (ret)
		return ret;
	ret = lsi_begin(src, c->length, DMA_TO_DEVICE);
	if (ret)
		goto out_dst;
	start = ktime_get();
	ret = lsi_engine_run(&lsi->engine, &dst->cursor, &src->cursor);
	c->out_ns = ktime_to_ns(ktime_sub(ktime_get(), start));
	peerpin_dma_end(&src->cursor.dma);
out_dst:
	peerpin_dma_end(&dst->cursor.dma);
	return ret;
}

static bool lsi_overlap(const struct lsi_side *a, const struct lsi_side *b,
			u64 length)
{
	return a->attach == b->attach &&
	       max(a->offset, b->offset) - min(a->offset, b->offset) < length;
}

static int lsi_copy_locked(struct lsi *lsi, struct lsi_side *dst,
			   struct lsi_side *src, struct peerpin_lsi_copy *c)
{
	int ret;

	lockdep_assert_held(&lsi->lock);
	ret = lsi_attach(lsi, dst) ?: lsi_attach(lsi, src);
	if (ret)
		return ret;
	return lsi_overlap(dst, src, c->length) ? -EINVAL : lsi_transfer(lsi, dst, src, c);
}

static int lsi_copy_in_turn(struct lsi *lsi, struct lsi_side *dst,
			    struct lsi_side *src, struct peerpin_lsi_copy *c)
{
	int ret;

	if (mutex_lock_interruptible(&lsi->lock))
		return -EINTR;
	ret = lsi_copy_locked(lsi, dst, src, c);
	mutex_unlock(&lsi->lock);
	return ret;
}

static int lsi_copy_alive(struct lsi *lsi, struct lsi_side *dst,
			  struct lsi_side *src, struct peerpin_lsi_copy *c)
{
	int ret;

	lockdep_assert_held_read(&lsi->life);
	if (READ_ONCE(lsi->engine.dead))
		return -ENODEV;
	ret = lsi_attach_early(lsi, dst) ?: lsi_attach_early(lsi, src);
	if (!ret)
		ret = lsi_copy_in_turn(lsi, dst, src, c);
	lsi_detach(src);
	lsi_detach(dst);
	return ret;
}

static int lsi_copy_taken(struct lsi *lsi, struct lsi_side *dst,
			  struct lsi_side *src, struct peerpin_lsi_copy *c)
{
	int ret;

	if (down_read_interruptible(&lsi->life))
		return -EINTR;
	ret = lsi_copy_alive(lsi, dst, src, c);
	up_read(&lsi->life);
	return ret;
}

/*
 * Pinning faults pages in, and userspace may let a fault wait for ever: no lock
 * is held meanwhile, least of all the one that remove waits for.
 */
static int lsi_copy(struct lsi *lsi, struct peerpin_lsi_copy *c)
{
	struct lsi_side dst = {}, src = {};
	int ret;

	if (READ_ONCE(lsi->engine.dead))
		return -ENODEV;
	ret = lsi_take(&dst, &c->dst, c->length,
		       c->flags & PEERPIN_LSI_DST_POINTER);
	if (ret)
		return ret;
	ret = lsi_take(&src, &c->src, c->length,
		       c->flags & PEERPIN_LSI_SRC_POINTER);
	if (ret)
		goto out_dst;
	ret = lsi_copy_taken(lsi, &dst, &src, c);
	lsi_let_go(&src);
out_dst:
	lsi_let_go(&dst);
	return ret;
}

static void lsi_free(struct kref *ref)
{
	struct lsi *lsi = container_of(ref, struct lsi, ref);

	ida_free(&lsi_ids, lsi->index);
	kfree(lsi);
}

static int lsi_open(struct inode *inode, struct file *filp)
{
	struct lsi *lsi = container_of(filp->private_data, struct lsi, misc);

	kref_get(&lsi->ref);
	filp->private_data = lsi;
	return nonseekable_open(inode, filp);
}

static int lsi_release(struct inode *inode, struct file *filp)
{
	kref_put(&((struct lsi *)filp->private_data)->ref, lsi_free);
	return 0;
}

static long lsi_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	struct peerpin_lsi_copy __user *user = (void __user *)arg;
	struct lsi *lsi = filp->private_data;
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
	ret = lsi_copy(lsi, &c);
	return ret ?: put_user(c.out_ns, &user->out_ns);
}

static const struct file_operations lsi_fops = {
	.owner = THIS_MODULE,
	.open = lsi_open,
	.release = lsi_release,
	.unlocked_ioctl = lsi_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
};

static struct lsi *lsi_alloc(struct pci_dev *pdev)
{
	struct lsi *lsi = kzalloc(sizeof(*lsi), GFP_KERNEL);

	if (!lsi)
		return NULL;
	lsi->index = ida_alloc(&lsi_ids, GFP_KERNEL);
	if (lsi->index < 0) {
		kfree(lsi);
		return NULL;
	}
	kref_init(&lsi->ref);
	lsi->pdev = pdev;
	lsi->engine.dev = &pdev->dev;
	init_rwsem(&lsi->life);
	mutex_init(&lsi->lock);
	init_completion(&lsi->engine.done);
	snprintf(lsi->name, sizeof(lsi->name), "lsi%d", lsi->index);
	lsi->misc.minor = MISC_DYNAMIC_MINOR;
	lsi->misc.name = lsi->name;
	lsi->misc.mode = 0666;	/* reaches only what the caller has pinned */
	lsi->misc.fops = &lsi_fops;
	lsi->misc.parent = &pdev->dev;
	return lsi;
}

/* What pcim_ and dmam_ calls acquire goes by itself after remove. */
static int lsi_setup(struct lsi *lsi)
{
	struct pci_dev *pdev = lsi->pdev;
	int ret;

	ret = pcim_enable_device(pdev);
	if (ret)
		return ret;
	ret = dma_set_mask_and_coherent(&pdev->dev, DMA_BIT_MASK(32));
	if (ret)
		return ret;
	dma_set_max_seg_size(&pdev->dev, LSI_MOVE_MAX);
	lsi->engine.script = dmam_alloc_coherent(&pdev->dev, LSI_SCRIPT_BYTES,
					  &lsi->engine.script_bus, GFP_KERNEL);
	lsi->engine.regs = pcim_iomap(pdev, LSI_BAR, 0);
	if (!lsi->engine.script || !lsi->engine.regs)
		return -ENOMEM;
	ret = pci_alloc_irq_vectors(pdev, 1, 1, PCI_IRQ_ALL_TYPES);
	if (ret < 0)
		return ret;
	lsi_engine_reset(&lsi->engine);
	pci_set_master(pdev);	/* before it would go on with what another driver has begun */
	return request_irq(pci_irq_vector(pdev, 0), lsi_engine_irq, IRQF_SHARED,
			   lsi->name, &lsi->engine);
}

static void lsi_quiet(struct lsi *lsi)
{
	lsi_engine_quiet(&lsi->engine);
	free_irq(pci_irq_vector(lsi->pdev, 0), &lsi->engine);
	pci_clear_master(lsi->pdev);
}

static int lsi_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct lsi *lsi = lsi_alloc(pdev);
	int ret;

	if (!lsi)
		return -ENOMEM;
	ret = lsi_setup(lsi);
	if (ret)
		goto err_free;
	lsi->peer = peerpin_peer_register(&pdev->dev, NULL, NULL);
	ret = PTR_ERR_OR_ZERO(lsi->peer);
	if (ret)
		goto err_quiet;
	pci_set_drvdata(pdev, lsi);
	ret = misc_register(&lsi->misc);
	if (ret)
		goto err_peer;
	return 0;

err_peer:
	peerpin_peer_unregister(lsi->peer);
err_quiet:
	lsi_quiet(lsi);
err_free:
	kref_put(&lsi->ref, lsi_free);
	return ret;
}

/*
 * Files may stay open: they keep the struct, and find it dead. A copy that
 * runs now ends before its next script.
 */
static void lsi_remove(struct pci_dev *pdev)
{
	struct lsi *lsi = pci_get_drvdata(pdev);

	misc_deregister(&lsi->misc);
	WRITE_ONCE(lsi->engine.dead, true);
	down_write(&lsi->life);	/* whoever comes after sees dead */
	up_write(&lsi->life);
	peerpin_peer_unregister(lsi->peer);
	lsi_quiet(lsi);
	kref_put(&lsi->ref, lsi_free);
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
