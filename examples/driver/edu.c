// SPDX-License-Identifier: GPL-2.0
/*
 * A minimal driver that uses peerpin, as a start for other drivers. /dev/eduN copies memory through
 * the buffer of QEMU's edu device (1234:11e8). The device's DMA engine moves up to 4 KiB between
 * memory and buffer. Calls of peerpin: the functions from edu_move_all() to edu_copy(), one line of
 * edu_probe(), one line of edu_remove(). edu_move() programs the registers.
 */
#include <linux/dma-mapping.h>
#include <linux/iopoll.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/rwsem.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <peerpin.h>
#include "edu.h"

enum {
	EDU_SRC = 0x80,		/* 64 bits, in one write */
	EDU_DST = 0x88,
	EDU_COUNT = 0x90,
	EDU_COMMAND = 0x98,
	EDU_START = 1,		/* set until the move has ended */
	EDU_TO_MEMORY = 2,
	EDU_BUFFER = 0x40000,	/* address of the buffer for the engine */
};

struct edu {
	struct kref ref;	/* held by the bound driver and by each open file */
	struct pci_dev *pdev;
	void __iomem *regs;
	struct peerpin_peer *peer;
	struct miscdevice misc;
	char name[16];
	struct rw_semaphore life;	/* protects @gone; while a reader holds it and @gone is not set, @peer exists */
	bool gone;
	struct mutex lock;	/* protects the engine, its buffer, and @dead */
	bool dead;
};

/*
 * If the engine does not finish, disable bus mastering until the driver is bound again: the engine
 * must not reach memory after peerpin_dma_end(). The timeout is shorter than drain_timeout_ms
 * (peerpin(4)), because a freeing thread waits for that time.
 */
static int edu_move(struct edu *edu, u64 src, u64 dst, u32 length, u32 command)
{
	u32 left;

	writeq(src, edu->regs + EDU_SRC);
	writeq(dst, edu->regs + EDU_DST);
	writeq(length, edu->regs + EDU_COUNT);
	writel(command | EDU_START, edu->regs + EDU_COMMAND);
	if (!readl_poll_timeout(edu->regs + EDU_COMMAND, left, !(left & EDU_START), 1000, 500000))
		return 0;
	pci_clear_master(edu->pdev);
	edu->dead = true;
	return -EIO;
}

static int edu_move_all(struct edu *edu, struct peerpin_dma *dma, bool store)
{
	u64 buffer = EDU_BUFFER;
	dma_addr_t bus;
	u32 length;
	int ret = 0;

	while (!ret && (length = peerpin_dma_next(dma, EDU_BUFFER_BYTES, &bus))) {
		if (peerpin_dma_stale(dma))
			return -ESTALE;
		ret = store ? edu_move(edu, buffer, bus, length, EDU_TO_MEMORY) : edu_move(edu, bus, buffer, length, 0);
		buffer += length;
	}
	return ret;
}

static int edu_transfer(struct edu *edu, struct peerpin_attach *attach, u64 offset, u32 length, bool store)
{
	struct peerpin_dma dma;
	int ret = peerpin_dma_begin(attach, offset, length, store ? DMA_FROM_DEVICE : DMA_TO_DEVICE, &dma);

	if (ret)
		return ret;
	ret = edu_move_all(edu, &dma, store);
	peerpin_dma_end(&dma);
	return ret;
}

/* Move in and out under one lock: no other user may read the buffer in between. */
static int edu_copy_attached(struct edu *edu, struct peerpin_attach *dst, struct peerpin_attach *src,
			     const struct edu_copy *c)
{
	int ret = -ENODEV;

	if (mutex_lock_interruptible(&edu->lock))
		return -EINTR;
	if (!edu->dead)
		ret = edu_transfer(edu, src, c->src.offset, c->length, false) ?:
		      edu_transfer(edu, dst, c->dst.offset, c->length, true);
	mutex_unlock(&edu->lock);
	return ret;
}

static struct peerpin_attach *edu_attach(struct edu *edu, const struct edu_place *place)
{
	struct peerpin_region *region = peerpin_region_get(place->fd, place->region);
	struct peerpin_attach *attach;

	if (IS_ERR(region))
		return ERR_CAST(region);
	attach = peerpin_attach(edu->peer, region);
	peerpin_region_put(region);
	return attach;
}

/* Attach before @lock is taken: the exporter of a dma-buf can delay an attach, and other copies need @lock. */
static int edu_copy(struct edu *edu, const struct edu_copy *c)
{
	struct peerpin_attach *dst, *src = edu_attach(edu, &c->src);
	int ret;

	if (IS_ERR(src))
		return PTR_ERR(src);
	dst = edu_attach(edu, &c->dst);
	ret = PTR_ERR_OR_ZERO(dst);
	if (ret)
		goto out_src;
	ret = edu_copy_attached(edu, dst, src, c);
	peerpin_attach_put(dst);
out_src:
	peerpin_attach_put(src);
	return ret;
}

static long edu_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	struct edu *edu = filp->private_data;
	struct edu_copy c;
	int ret;

	if (cmd != EDU_IOC_COPY)
		return -ENOTTY;
	if (copy_from_user(&c, (void __user *)arg, sizeof(c)))
		return -EFAULT;
	if (c.reserved || !c.length || c.length > EDU_BUFFER_BYTES)
		return -EINVAL;
	if (down_read_interruptible(&edu->life))
		return -EINTR;
	ret = edu->gone ? -ENODEV : edu_copy(edu, &c);
	up_read(&edu->life);
	return ret;
}

static void edu_free(struct kref *ref)
{
	kfree(container_of(ref, struct edu, ref));
}

static int edu_open(struct inode *inode, struct file *filp)
{
	struct edu *edu = container_of(filp->private_data, struct edu, misc);

	kref_get(&edu->ref);
	filp->private_data = edu;
	return nonseekable_open(inode, filp);
}

static int edu_release(struct inode *inode, struct file *filp)
{
	kref_put(&((struct edu *)filp->private_data)->ref, edu_free);
	return 0;
}

static const struct file_operations edu_fops = {
	.owner = THIS_MODULE,
	.open = edu_open,
	.release = edu_release,
	.unlocked_ioctl = edu_ioctl,
};

static struct edu *edu_alloc(struct pci_dev *pdev)
{
	static atomic_t next;
	struct edu *edu = kzalloc(sizeof(*edu), GFP_KERNEL);

	if (!edu)
		return NULL;
	kref_init(&edu->ref);
	init_rwsem(&edu->life);
	mutex_init(&edu->lock);
	edu->pdev = pdev;
	snprintf(edu->name, sizeof(edu->name), "edu%d", atomic_fetch_inc(&next));
	edu->misc.minor = MISC_DYNAMIC_MINOR;
	edu->misc.name = edu->name;
	edu->misc.mode = 0666;	/* a copy reaches only memory that the caller has pinned */
	edu->misc.fops = &edu_fops;
	edu->misc.parent = &pdev->dev;
	return edu;
}

/*
 * The driver core frees the pcim_ resources after remove. The mask is for QEMU with
 * -device edu,dma_mask=0xffffffffffffffff. For the default edu use DMA_BIT_MASK(28), or its DMA
 * reaches wrong addresses.
 */
static int edu_setup(struct edu *edu)
{
	int ret = pcim_enable_device(edu->pdev);

	if (!ret)
		ret = dma_set_mask_and_coherent(&edu->pdev->dev, DMA_BIT_MASK(64));
	if (ret)
		return ret;
	edu->regs = pcim_iomap(edu->pdev, 0, 0);
	if (!edu->regs)
		return -ENOMEM;
	if (readl(edu->regs + EDU_COMMAND) & EDU_START)
		return -EBUSY;	/* as bus master it would continue a move of the previous driver */
	pci_set_master(edu->pdev);
	return 0;
}

static int edu_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct edu *edu = edu_alloc(pdev);
	int ret;

	if (!edu)
		return -ENOMEM;
	ret = edu_setup(edu);
	if (ret)
		goto err_free;
	edu->peer = peerpin_peer_register(&pdev->dev, NULL, NULL);
	ret = PTR_ERR_OR_ZERO(edu->peer);
	if (ret)
		goto err_free;
	pci_set_drvdata(pdev, edu);
	ret = misc_register(&edu->misc);
	if (!ret)
		return 0;
	peerpin_peer_unregister(edu->peer);
err_free:
	kref_put(&edu->ref, edu_free);
	return ret;
}

/* Open files keep their references to @edu; copies through them return -ENODEV. */
static void edu_remove(struct pci_dev *pdev)
{
	struct edu *edu = pci_get_drvdata(pdev);

	misc_deregister(&edu->misc);
	down_write(&edu->life);
	edu->gone = true;
	up_write(&edu->life);
	peerpin_peer_unregister(edu->peer);
	kref_put(&edu->ref, edu_free);
}

static const struct pci_device_id edu_pci_ids[] = {
	{ PCI_DEVICE(0x1234, 0x11e8) },
	{}
};
MODULE_DEVICE_TABLE(pci, edu_pci_ids);

static struct pci_driver edu_driver = {
	.name = "edu",
	.id_table = edu_pci_ids,
	.probe = edu_probe,
	.remove = edu_remove,
};

module_pci_driver(edu_driver);
MODULE_DESCRIPTION("A minimal peerpin driver, for QEMU's edu device");
MODULE_LICENSE("GPL");
