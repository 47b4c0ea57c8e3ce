// SPDX-License-Identifier: GPL-2.0
/*
 * The reference third-party driver: the copy engine of an LSI 53C895A as
 * /dev/lsiN. One ioctl copies between any two regions of /dev/peerpin, GPU or
 * host memory on either side. All that concerns peerpin is in lsi_copy(),
 * lsi_transfer() and lsi_run(); the rest is what every PCI driver has.
 *
 * The chip is told what to do by SCRIPTS, a list of instructions in memory. A
 * Memory Move takes three words: opcode and length, source, destination. A
 * list ends with an instruction that interrupts. Bus addresses have 32 bits.
 */
#include <linux/dma-mapping.h>
#include <linux/idr.h>
#include <linux/interrupt.h>
#include <linux/iopoll.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <peerpin.h>
#include "../uapi/peerpin_lsi.h"

enum {
	LSI_BAR = 1,
	LSI_DSTAT = 0x0c,	/* why the engine stopped; reading clears */
	LSI_DSTAT_ERRORS = 0x71,
	LSI_ISTAT0 = 0x14,
	LSI_ISTAT0_DIP = 0x01,
	LSI_ISTAT0_SRST = 0x40,
	LSI_DSP = 0x2c,		/* writing the script's address starts it */
	LSI_DIEN = 0x39,	/* what of DSTAT interrupts */
	LSI_DIEN_ALL = 0x75,
	LSI_MOVE = 0xc0000000,
	LSI_INT = 0x98080000,
	LSI_MOVE_MAX = 0xfffffc,
	LSI_SCRIPT_MOVES = 96,	/* QEMU pauses 500 us after 100 instructions */
	LSI_SCRIPT_BYTES = (LSI_SCRIPT_MOVES * 3 + 2) * 4,
	LSI_START_BYTES = 16 << 20,	/* then look whether to go on */
	LSI_TIMEOUT_MS = 500,	/* less than the core waits for us */
};

struct lsi {
	struct kref ref;	/* the driver's and each open file's */
	struct pci_dev *pdev;
	void __iomem *regs;
	__le32 *script;
	dma_addr_t script_bus;
	struct peerpin_peer *peer;
	struct miscdevice misc;
	int index;
	char name[16];
	struct mutex lock;	/* the engine: one copy at a time */
	bool dead;		/* removed: the hardware must not be touched */
	struct completion done;	/* an interrupt has come */
};

static unsigned int poll_us = 20;
module_param(poll_us, uint, 0644);
MODULE_PARM_DESC(poll_us, "poll a script this long before waiting for the interrupt");

static DEFINE_IDA(lsi_ids);

static irqreturn_t lsi_irq(int irq, void *data)
{
	struct lsi *lsi = data;
	u8 istat = readb(lsi->regs + LSI_ISTAT0);

	if (istat == 0xff || !(istat & LSI_ISTAT0_DIP))
		return IRQ_NONE;
	writeb(0, lsi->regs + LSI_DIEN);
	complete(&lsi->done);
	return IRQ_HANDLED;
}

static void lsi_reset(struct lsi *lsi)
{
	writeb(LSI_ISTAT0_SRST, lsi->regs + LSI_ISTAT0);
	writeb(0, lsi->regs + LSI_ISTAT0);
	readb(lsi->regs + LSI_DSTAT);
}

/*
 * A short wait costs less than an interrupt; a long one must not burn a CPU.
 * The line may be shared, so an interrupt may be late and of the last script.
 */
static int lsi_wait(struct lsi *lsi)
{
	unsigned long left = msecs_to_jiffies(LSI_TIMEOUT_MS);
	u8 istat;

	if (poll_us &&
	    !readb_poll_timeout_atomic(lsi->regs + LSI_ISTAT0, istat,
				       istat & LSI_ISTAT0_DIP, 1, poll_us))
		return 0;
	do {
		reinit_completion(&lsi->done);
		writeb(LSI_DIEN_ALL, lsi->regs + LSI_DIEN);
		left = wait_for_completion_timeout(&lsi->done, left);
	} while (left && !(readb(lsi->regs + LSI_ISTAT0) & LSI_ISTAT0_DIP));
	return left ? 0 : -EIO;
}

static int lsi_start(struct lsi *lsi)
{
	writel(lsi->script_bus, lsi->regs + LSI_DSP);
	if (lsi_wait(lsi)) {
		dev_err(&lsi->pdev->dev, "engine does not answer; resetting it\n");
		lsi_reset(lsi);
		return -EIO;
	}
	return readb(lsi->regs + LSI_DSTAT) & LSI_DSTAT_ERRORS ? -EIO : 0;
}

/* One end of a copy and the piece of it that is being handed out */
struct lsi_cursor {
	struct peerpin_dma dma;
	dma_addr_t bus;
	u32 len;
};

static bool lsi_refill(struct lsi_cursor *c)
{
	if (!c->len)
		c->len = peerpin_dma_next(&c->dma, LSI_MOVE_MAX, &c->bus);
	return c->len;
}

/* Write the next script; returns the bytes it moves, 0 when all is moved. */
static u32 lsi_build(struct lsi *lsi, struct lsi_cursor *dst,
		     struct lsi_cursor *src)
{
	__le32 *at = lsi->script;
	u32 moves, len, total = 0;

	for (moves = 0; moves < LSI_SCRIPT_MOVES; moves++) {
		if (total >= LSI_START_BYTES || !lsi_refill(dst) || !lsi_refill(src))
			break;
		len = min(dst->len, src->len);
		*at++ = cpu_to_le32(LSI_MOVE | len);
		*at++ = cpu_to_le32(src->bus);
		*at++ = cpu_to_le32(dst->bus);
		dst->bus += len;
		dst->len -= len;
		src->bus += len;
		src->len -= len;
		total += len;
	}
	*at++ = cpu_to_le32(LSI_INT);
	*at = 0;
	return total;
}

static int lsi_run(struct lsi *lsi, struct lsi_cursor *dst,
		   struct lsi_cursor *src)
{
	int ret = 0;

	while (!ret && lsi_build(lsi, dst, src)) {
		if (READ_ONCE(lsi->dead))
			return -ENODEV;
		if (peerpin_dma_stale(&dst->dma) || peerpin_dma_stale(&src->dma))
			return -ESTALE;
		ret = lsi_start(lsi);
	}
	return ret;
}

static int lsi_transfer(struct lsi *lsi, struct peerpin_attach *to,
			struct peerpin_attach *from, struct peerpin_lsi_copy *c)
{
	struct lsi_cursor dst = {}, src = {};
	ktime_t start;
	int ret;

	ret = peerpin_dma_begin(to, c->dst.offset, c->length, DMA_FROM_DEVICE,
				&dst.dma);
	if (ret)
		return ret;
	ret = peerpin_dma_begin(from, c->src.offset, c->length, DMA_TO_DEVICE,
				&src.dma);
	if (ret)
		goto out_dst;
	start = ktime_get();
	ret = lsi_run(lsi, &dst, &src);
	c->out_ns = ktime_to_ns(ktime_sub(ktime_get(), start));
	peerpin_dma_end(&src.dma);
out_dst:
	peerpin_dma_end(&dst.dma);
	return ret;
}

static int lsi_copy(struct lsi *lsi, struct peerpin_lsi_copy *c)
{
	struct peerpin_attach *dst, *src;
	int ret;

	if (lsi->dead)
		return -ENODEV;
	dst = peerpin_attach(lsi->peer, c->dst.fd, c->dst.region);
	if (IS_ERR(dst))
		return PTR_ERR(dst);
	src = peerpin_attach(lsi->peer, c->src.fd, c->src.region);
	ret = PTR_ERR_OR_ZERO(src);
	if (ret)
		goto out_dst;
	ret = -EINVAL;
	if (dst == src && max(c->dst.offset, c->src.offset) -
	    min(c->dst.offset, c->src.offset) < c->length)
		goto out_src;
	ret = lsi_transfer(lsi, dst, src, c);
out_src:
	peerpin_attach_put(src);
out_dst:
	peerpin_attach_put(dst);
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
	if (c.flags)
		return -EOPNOTSUPP;
	if (mutex_lock_interruptible(&lsi->lock))
		return -EINTR;
	ret = lsi_copy(lsi, &c);
	mutex_unlock(&lsi->lock);
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
	mutex_init(&lsi->lock);
	init_completion(&lsi->done);
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
	lsi->script = dmam_alloc_coherent(&pdev->dev, LSI_SCRIPT_BYTES,
					  &lsi->script_bus, GFP_KERNEL);
	lsi->regs = pcim_iomap(pdev, LSI_BAR, 0);
	if (!lsi->script || !lsi->regs)
		return -ENOMEM;
	pci_set_master(pdev);
	ret = pci_alloc_irq_vectors(pdev, 1, 1, PCI_IRQ_ALL_TYPES);
	if (ret < 0)
		return ret;
	lsi_reset(lsi);
	return request_irq(pci_irq_vector(pdev, 0), lsi_irq, IRQF_SHARED,
			   lsi->name, lsi);
}

static void lsi_quiet(struct lsi *lsi)
{
	writeb(0, lsi->regs + LSI_DIEN);
	free_irq(pci_irq_vector(lsi->pdev, 0), lsi);
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
	WRITE_ONCE(lsi->dead, true);
	mutex_lock(&lsi->lock);	/* whoever comes after sees dead */
	mutex_unlock(&lsi->lock);
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
