// SPDX-License-Identifier: GPL-2.0
/*
 * An importer of dma-bufs for tests. Slots belong to no process: a mapping stays until UNMAP or
 * move_notify, even if the process dies.
 */
#include <linux/delay.h>
#include <linux/dma-buf.h>
#include <linux/dma-fence.h>
#include <linux/dma-mapping.h>
#include <linux/dma-resv.h>
#include <linux/err.h>
#include <linux/io.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "../../emu/common/node/compat.h"
#include "dmabuf_check.h"

MODULE_IMPORT_NS("DMA_BUF");

enum {
	DSTAT = 0x0c,
	ISTAT0 = 0x14,
	DSP = 0x2c,
	DIEN = 0x39,
	DSTAT_SIR = 1 << 2,
	ISTAT0_DIP = 1 << 0,
	MOVE = 0xc0000000,
	INTERRUPT = 0x98080000,
	SCRIPT_WORDS = 5,
	DMA_TIMEOUT_US = 1000000,
};

struct slot {
	struct mutex lock;			/* serialises calls; taken before the reservation lock */
	struct dma_buf_attachment *attach;
	struct sg_table *sgt;			/* the reservation lock protects the fields from here to @notify_ms */
	u32 notified;
	bool unmap_in_notify;
	u32 notify_ms;
	struct dma_fence *fence;		/* under @lock */
};

/* DMA memory of the chip: the script of the chip, and data */
struct shared {
	__le32 script[SCRIPT_WORDS];
	u8 data[DMABUF_CHECK_BYTES];
};

static struct slot slots[DMABUF_CHECK_SLOTS];

/* Serialises use of the chip; taken inside reservation locks */
static DEFINE_MUTEX(engine_lock);
static struct pci_dev *chip;
static void __iomem *regs;
static struct shared *shared;
static dma_addr_t shared_bus;
static u32 max_segment;

/* ---- the chip ---------------------------------------------------------------- */

static int engine_run(void)
{
	int us;

	writel(shared_bus, regs + DSP);
	for (us = 0; us < DMA_TIMEOUT_US; us += 10) {
		if (readb(regs + ISTAT0) & ISTAT0_DIP)
			return readb(regs + DSTAT) & DSTAT_SIR ? 0 : -EIO;
		udelay(10);
	}
	return -ETIMEDOUT;
}

static int engine_move(dma_addr_t to, dma_addr_t from)
{
	shared->script[0] = cpu_to_le32(MOVE | DMABUF_CHECK_BYTES);
	shared->script[1] = cpu_to_le32(from);
	shared->script[2] = cpu_to_le32(to);
	shared->script[3] = cpu_to_le32(INTERRUPT);
	shared->script[4] = 0;
	return engine_run();
}

static int engine_copy(dma_addr_t at, struct dmabuf_check_dma *dma)
{
	dma_addr_t data = shared_bus + offsetof(struct shared, data);
	int err;

	mutex_lock(&engine_lock);
	memcpy(shared->data, dma->data, sizeof(dma->data));
	err = dma->write ? engine_move(at, data) : engine_move(data, at);
	memcpy(dma->data, shared->data, sizeof(dma->data));
	mutex_unlock(&engine_lock);
	return err;
}

/* ---- mappings: reservation lock held ------------------------------------------- */

static int map(struct slot *slot)
{
	struct sg_table *sgt;

	if (slot->sgt)
		return -EBADSLT;
	sgt = dma_buf_map_attachment(slot->attach, DMA_BIDIRECTIONAL);
	if (IS_ERR(sgt))
		return PTR_ERR(sgt);
	slot->sgt = sgt;
	return 0;
}

static int unmap(struct slot *slot)
{
	if (!slot->sgt)
		return -EBADSLT;
	dma_buf_unmap_attachment(slot->attach, slot->sgt, DMA_BIDIRECTIONAL);
	slot->sgt = NULL;
	return 0;
}

static int cut(struct slot *slot)
{
	if (!slot->sgt)
		return -EBADSLT;
	sg_dma_address(slot->sgt->sgl) += PAGE_SIZE;
	sg_dma_len(slot->sgt->sgl) -= PAGE_SIZE;
	return 0;
}

/* slot->attach and slot->sgt are NULL until attach() has returned. */
static void notified(struct dma_buf_attachment *attach)
{
	struct slot *slot = attach->importer_priv;

	dma_resv_assert_held(attach->dmabuf->resv);
	slot->notified++;
	if (slot->notify_ms)	/* msleep(0) would sleep a tick, for each of hundreds of slots */
		msleep(slot->notify_ms);
	if (slot->unmap_in_notify && slot->sgt)
		unmap(slot);
}

static const struct dma_buf_attach_ops importers[DMABUF_CHECK_KINDS] = {
	[DMABUF_CHECK_DYNAMIC] = { .allow_peer2peer = true, .invalidate_mappings = notified },
	[DMABUF_CHECK_DYNAMIC_NO_P2P] = { .invalidate_mappings = notified },
};

/* ---- fences --------------------------------------------------------------------- */

static DEFINE_SPINLOCK(fence_lock);

static const char *fence_name(struct dma_fence *fence)
{
	return "dmabuf_check";
}

static const struct dma_fence_ops fence_ops = {
	.get_driver_name = fence_name,
	.get_timeline_name = fence_name,
};

static int fence_add(struct slot *slot)
{
	struct dma_resv *resv = slot->attach->dmabuf->resv;
	struct dma_fence *fence;
	int err;

	if (slot->fence)
		return -EBADSLT;
	err = dma_resv_reserve_fences(resv, 1);
	if (err)
		return err;
	fence = kzalloc(sizeof(*fence), GFP_KERNEL);
	if (!fence)
		return -ENOMEM;
	dma_fence_init(fence, &fence_ops, &fence_lock, dma_fence_context_alloc(1), 1);
	dma_resv_add_fence(resv, fence, DMA_RESV_USAGE_BOOKKEEP);
	slot->fence = fence;
	return 0;
}

static int fence_signal(struct slot *slot)
{
	if (!slot->fence)
		return -EBADSLT;
	dma_fence_signal(slot->fence);
	dma_fence_put(slot->fence);
	slot->fence = NULL;
	return 0;
}

static int pin(struct slot *slot)
{
	return dma_buf_pin(slot->attach);
}

static int unpin(struct slot *slot)
{
	dma_buf_unpin(slot->attach);
	return 0;
}

static struct scatterlist *entry(struct slot *slot, u32 number)
{
	struct scatterlist *sg;
	u32 i;

	if (slot->sgt)
		for_each_sgtable_dma_sg(slot->sgt, sg, i)
			if (i == number)
				return sg;
	return NULL;
}

static int look(struct slot *slot, struct dmabuf_check_look *seen)
{
	struct scatterlist *sg = entry(slot, seen->entry);

	seen->out_notified = slot->notified;
	seen->out_entries = slot->sgt ? slot->sgt->nents : 0;
	if (!slot->sgt)
		return 0;
	if (!sg)
		return -EBADSLT;
	seen->out_has_page = sg_page(sg) != NULL;
	seen->out_length = sg_dma_len(sg);
	seen->out_bus = sg_dma_address(sg);
	return 0;
}

static int dma(struct slot *slot, struct dmabuf_check_dma *what)
{
	struct scatterlist *sg = entry(slot, what->entry);

	if (!sg || what->offset > sg_dma_len(sg) || sg_dma_len(sg) - what->offset < DMABUF_CHECK_BYTES)
		return -EBADSLT;
	return engine_copy(sg_dma_address(sg) + what->offset, what);
}

/* ---- attachments: slot's lock held ----------------------------------------------- */

static int attach_to(struct slot *slot, struct dma_buf *dmabuf, u32 kind)
{
	struct dma_buf_attachment *attach;

	slot->notified = 0;
	if (kind == DMABUF_CHECK_STATIC)
		attach = dma_buf_attach(dmabuf, &chip->dev);
	else
		attach = dma_buf_dynamic_attach(dmabuf, &chip->dev, &importers[kind], slot);
	if (IS_ERR(attach))
		return PTR_ERR(attach);
	slot->attach = attach;
	return 0;
}

static int attach(struct slot *slot, const struct dmabuf_check_attach *what)
{
	struct dma_buf *dmabuf;
	int err;

	if (slot->attach || what->kind >= DMABUF_CHECK_KINDS)
		return -EBADSLT;
	dmabuf = dma_buf_get(what->fd);
	if (IS_ERR(dmabuf))
		return PTR_ERR(dmabuf);
	slot->unmap_in_notify = what->unmap_in_notify;
	slot->notify_ms = what->notify_ms;
	err = attach_to(slot, dmabuf, what->kind);
	if (err)
		dma_buf_put(dmabuf);
	return err;
}

static void detach(struct slot *slot)
{
	struct dma_buf *dmabuf = slot->attach->dmabuf;

	fence_signal(slot);
	dma_resv_lock(dmabuf->resv, NULL);
	unmap(slot);
	dma_resv_unlock(dmabuf->resv);
	dma_buf_detach(dmabuf, slot->attach);
	slot->attach = NULL;
	dma_buf_put(dmabuf);
}

static int hold(const struct dmabuf_check_hold *what)
{
	msleep_interruptible(what->ms);
	return 0;
}

static int run_resv_locked(struct slot *slot, unsigned int cmd, void *arg)
{
	switch (cmd) {
	case DMABUF_CHECK_MAP:
		return map(slot);
	case DMABUF_CHECK_UNMAP:
		return unmap(slot);
	case DMABUF_CHECK_CUT:
		return cut(slot);
	case DMABUF_CHECK_PIN:
		return pin(slot);
	case DMABUF_CHECK_UNPIN:
		return unpin(slot);
	case DMABUF_CHECK_LOOK:
		return look(slot, arg);
	case DMABUF_CHECK_DMA:
		return dma(slot, arg);
	case DMABUF_CHECK_FENCE:
		return fence_add(slot);
	case DMABUF_CHECK_HOLD:
		return hold(arg);
	default:
		return -ENOTTY;
	}
}

static int run_attached(struct slot *slot, unsigned int cmd, void *arg)
{
	struct dma_resv *resv = slot->attach->dmabuf->resv;
	int err;

	if (cmd == DMABUF_CHECK_DETACH) {
		detach(slot);
		return 0;
	}
	if (cmd == DMABUF_CHECK_SIGNAL)
		return fence_signal(slot);
	dma_resv_lock(resv, NULL);
	err = run_resv_locked(slot, cmd, arg);
	dma_resv_unlock(resv);
	return err;
}

static int run(struct slot *slot, unsigned int cmd, void *arg)
{
	int err = -EBADSLT;

	mutex_lock(&slot->lock);
	if (cmd == DMABUF_CHECK_ATTACH)
		err = attach(slot, arg);
	else if (slot->attach)
		err = run_attached(slot, cmd, arg);
	mutex_unlock(&slot->lock);
	return err;
}

static int limit(const struct dmabuf_check_limit *what)
{
	dma_set_max_seg_size(&chip->dev, what->max_segment ?: max_segment);
	chip->dev.bus_dma_limit = what->bus;
	return 0;
}

static long check_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	void __user *user = (void __user *)arg;
	union {
		u32 slot;	/* first field of every argument except LIMIT's */
		struct dmabuf_check_attach attach;
		struct dmabuf_check_look look;
		struct dmabuf_check_limit limit;
		struct dmabuf_check_hold hold;
		struct dmabuf_check_dma dma;
	} buf = {};
	int err;

	if (_IOC_SIZE(cmd) > sizeof(buf))
		return -ENOTTY;
	if (copy_from_user(&buf, user, _IOC_SIZE(cmd)))
		return -EFAULT;
	if (cmd == DMABUF_CHECK_LIMIT)
		return limit(&buf.limit);
	if (buf.slot >= DMABUF_CHECK_SLOTS)
		return -EBADSLT;
	err = run(&slots[buf.slot], cmd, &buf);
	if (!err && (_IOC_DIR(cmd) & _IOC_READ) && copy_to_user(user, &buf, _IOC_SIZE(cmd)))
		return -EFAULT;
	return err;
}

static const struct file_operations check_fops = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = check_ioctl,
	.llseek = noop_llseek,
};

static struct miscdevice check_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "dmabuf_check",
	.fops = &check_fops,
};

/* ---- probe and remove -------------------------------------------------------------- */

static int chip_map(void)
{
	int err = dma_set_mask_and_coherent(&chip->dev, DMA_BIT_MASK(32));

	if (err)
		return err;
	regs = pci_iomap(chip, 1, 0);
	if (!regs)
		return -ENOMEM;
	shared = dma_alloc_coherent(&chip->dev, sizeof(*shared), &shared_bus, GFP_KERNEL);
	if (!shared) {
		pci_iounmap(chip, regs);
		return -ENOMEM;
	}
	max_segment = dma_get_max_seg_size(&chip->dev);
	writeb(DSTAT_SIR, regs + DIEN);
	return 0;
}

static int chip_start(void)
{
	int err;

	if (chip->dev.driver)
		return -EBUSY;
	err = pci_enable_device(chip);
	if (err)
		return err;
	pci_set_master(chip);
	err = chip_map();
	if (err)
		pci_disable_device(chip);
	return err;
}

static void chip_stop(void)
{
	writeb(0, regs + DIEN);
	dma_free_coherent(&chip->dev, sizeof(*shared), shared, shared_bus);
	pci_iounmap(chip, regs);
	pci_disable_device(chip);
}

static int __init dmabuf_check_init(void)
{
	int i, err;

	for (i = 0; i < DMABUF_CHECK_SLOTS; i++)
		mutex_init(&slots[i].lock);
	chip = pci_get_device(PCI_VENDOR_ID_LSI_LOGIC, PCI_DEVICE_ID_LSI_53C895A, NULL);
	if (!chip)
		return -ENODEV;
	err = chip_start();
	if (err)
		goto err_put;
	err = misc_register(&check_device);
	if (err)
		goto err_stop;
	return 0;

err_stop:
	chip_stop();
err_put:
	pci_dev_put(chip);
	return err;
}
module_init(dmabuf_check_init);

static void __exit dmabuf_check_exit(void)
{
	const struct dmabuf_check_limit none = {};
	int i;

	misc_deregister(&check_device);
	for (i = 0; i < DMABUF_CHECK_SLOTS; i++)
		if (slots[i].attach)
			detach(&slots[i]);
	limit(&none);
	chip_stop();
	pci_dev_put(chip);
}
module_exit(dmabuf_check_exit);

MODULE_DESCRIPTION("An importer of dma-bufs, for tests");
MODULE_LICENSE("GPL");
