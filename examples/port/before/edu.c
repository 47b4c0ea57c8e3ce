// SPDX-License-Identifier: GPL-2.0
/*
 * A typical driver: one ioctl that takes two user pointers, and the DMA engine of
 * QEMU's edu device, which moves data between memory and its buffer.
 * doc/drivers.md converts before/edu.c to after/edu.c.
 */
#include <linux/dma-mapping.h>
#include <linux/iopoll.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include "edu.h"

enum {
	EDU_SRC = 0x80,
	EDU_DST = 0x88,
	EDU_COUNT = 0x90,
	EDU_CMD = 0x98,
	EDU_CMD_RUN = 1,
	EDU_CMD_TO_MEMORY = 2,
	EDU_BUFFER = 0x40000,	/* of 4096 bytes; a bug of QEMU forbids a move that fills it */
	EDU_CHUNK = 2048,
};

struct edu {
	struct pci_dev *pdev;
	void __iomem *regs;
	bool dead;		/* the engine timed out, or the device is being removed */
};

/* One device only; NULL after remove, also for open files. */
static struct edu *edu_device;
static DEFINE_MUTEX(edu_lock);

/*
 * struct edu_end - source or destination of a copy
 * @sg: the current segment, of which @done bytes were moved
 */
struct edu_end {
	enum dma_data_direction dir;
	struct page **pages;
	int count;
	struct sg_table sgt;
	struct scatterlist *sg;
	u32 done;
};

static int edu_pin(struct edu_end *end, u64 addr, u64 length)
{
	unsigned int flags = end->dir == DMA_FROM_DEVICE ? FOLL_WRITE : 0;
	int got;

	end->count = DIV_ROUND_UP(offset_in_page(addr) + length, PAGE_SIZE);
	end->pages = kvcalloc(end->count, sizeof(*end->pages), GFP_KERNEL);
	if (!end->pages)
		return -ENOMEM;
	got = pin_user_pages_fast(addr, end->count, flags, end->pages);
	if (got == end->count)
		return 0;
	if (got > 0)
		unpin_user_pages(end->pages, got);
	kvfree(end->pages);
	return got < 0 ? got : -EFAULT;
}

static void edu_unpin(struct edu_end *end)
{
	unpin_user_pages_dirty_lock(end->pages, end->count, end->dir == DMA_FROM_DEVICE);
	kvfree(end->pages);
}

static int edu_map(struct edu *edu, struct edu_end *end, u64 addr, u64 length)
{
	int ret = sg_alloc_table_from_pages(&end->sgt, end->pages, end->count,
					    offset_in_page(addr), length, GFP_KERNEL);

	if (ret)
		return ret;
	ret = dma_map_sgtable(&edu->pdev->dev, &end->sgt, end->dir, 0);
	if (ret)
		sg_free_table(&end->sgt);
	end->sg = end->sgt.sgl;
	return ret;
}

static void edu_unmap(struct edu *edu, struct edu_end *end)
{
	dma_unmap_sgtable(&edu->pdev->dev, &end->sgt, end->dir, 0);
	sg_free_table(&end->sgt);
}

/* Return the length of the next contiguous piece, at most @max. */
static u32 edu_next(struct edu_end *end, u32 max, dma_addr_t *bus)
{
	u32 len;

	if (end->done == sg_dma_len(end->sg)) {
		end->sg = sg_next(end->sg);
		end->done = 0;
	}
	len = min(max, sg_dma_len(end->sg) - end->done);
	*bus = sg_dma_address(end->sg) + end->done;
	end->done += len;
	return len;
}

/*
 * If the engine times out, disable bus mastering, and refuse copies until the next
 * probe: without bus mastering the engine copies nothing, but reports no error.
 */
static int edu_run(struct edu *edu, u64 dst, u64 src, u32 length, u32 cmd)
{
	u32 busy;

	writeq(src, edu->regs + EDU_SRC);
	writeq(dst, edu->regs + EDU_DST);
	writeq(length, edu->regs + EDU_COUNT);
	writel(cmd | EDU_CMD_RUN, edu->regs + EDU_CMD);
	if (!readl_poll_timeout(edu->regs + EDU_CMD, busy, !(busy & EDU_CMD_RUN), 1000, 500 * USEC_PER_MSEC))
		return 0;
	pci_clear_master(edu->pdev);
	WRITE_ONCE(edu->dead, true);
	return -EIO;
}

/* Move a chunk between @end and the buffer of the engine. */
static int edu_move(struct edu *edu, struct edu_end *end, u32 chunk)
{
	u32 done, len;
	dma_addr_t bus;
	int ret = 0;

	for (done = 0; done < chunk && !ret; done += len) {
		len = edu_next(end, chunk - done, &bus);
		if (end->dir == DMA_FROM_DEVICE)
			ret = edu_run(edu, bus, EDU_BUFFER + done, len, EDU_CMD_TO_MEMORY);
		else
			ret = edu_run(edu, EDU_BUFFER + done, bus, len, 0);
	}
	return ret;
}

static int edu_chunks(struct edu *edu, struct edu_end *dst, struct edu_end *src, u64 length)
{
	u32 chunk;
	int ret = 0;

	for (; length && !ret; length -= chunk) {
		if (READ_ONCE(edu->dead))
			return -ENODEV;
		if (fatal_signal_pending(current))
			return -EINTR;
		chunk = min_t(u64, length, EDU_CHUNK);
		ret = edu_move(edu, src, chunk) ?: edu_move(edu, dst, chunk);
	}
	return ret;
}

static int edu_copy_locked(struct edu *edu, struct edu_end *dst, struct edu_end *src, const struct edu_copy *c)
{
	int ret = edu_map(edu, dst, c->dst, c->length);

	if (ret)
		return ret;
	ret = edu_map(edu, src, c->src, c->length);
	if (ret)
		goto out_dst;
	ret = edu_chunks(edu, dst, src, c->length);
	edu_unmap(edu, src);
out_dst:
	edu_unmap(edu, dst);
	return ret;
}

static int edu_copy_pinned(struct edu_end *dst, struct edu_end *src, const struct edu_copy *c)
{
	int ret = -ENODEV;

	if (mutex_lock_interruptible(&edu_lock))
		return -EINTR;
	if (edu_device)
		ret = edu_copy_locked(edu_device, dst, src, c);
	mutex_unlock(&edu_lock);
	return ret;
}

/* Pin without the lock, which other copies need: a page fault may never end. */
static int edu_copy(const struct edu_copy *c)
{
	struct edu_end dst = { .dir = DMA_FROM_DEVICE }, src = { .dir = DMA_TO_DEVICE };
	int ret;

	if (!c->length || c->length > EDU_COPY_MAX)
		return -EINVAL;
	ret = edu_pin(&dst, c->dst, c->length);
	if (ret)
		return ret;
	ret = edu_pin(&src, c->src, c->length);
	if (ret)
		goto out_dst;
	ret = edu_copy_pinned(&dst, &src, c);
	edu_unpin(&src);
out_dst:
	edu_unpin(&dst);
	return ret;
}

static long edu_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	struct edu_copy c;

	if (cmd != EDU_IOC_COPY)
		return -ENOTTY;
	if (copy_from_user(&c, (void __user *)arg, sizeof(c)))
		return -EFAULT;
	return edu_copy(&c);
}

static const struct file_operations edu_fops = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = edu_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
};

static struct miscdevice edu_misc = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "edu",
	.mode = 0666,
	.fops = &edu_fops,
};

static int edu_add(struct edu *edu)
{
	int ret = -EBUSY;

	mutex_lock(&edu_lock);
	if (!edu_device) {
		edu_device = edu;
		ret = 0;
	}
	mutex_unlock(&edu_lock);
	return ret;
}

/* Stop a running copy, and wait for its end. */
static void edu_drop(struct edu *edu)
{
	WRITE_ONCE(edu->dead, true);
	mutex_lock(&edu_lock);
	edu_device = NULL;
	mutex_unlock(&edu_lock);
}

/*
 * The mask is for an edu with dma_mask=0xffffffffffffffff, as emu/vm/run starts it.
 * For the default edu use DMA_BIT_MASK(28), or its DMA reaches wrong addresses.
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
	if (readl(edu->regs + EDU_CMD) & EDU_CMD_RUN)
		return -EBUSY;	/* as bus master it would continue a move of the previous driver */
	pci_set_master(edu->pdev);
	return 0;
}

static int edu_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct edu *edu = devm_kzalloc(&pdev->dev, sizeof(*edu), GFP_KERNEL);
	int ret;

	if (!edu)
		return -ENOMEM;
	edu->pdev = pdev;
	ret = edu_setup(edu);
	if (ret)
		return ret;
	pci_set_drvdata(pdev, edu);
	ret = edu_add(edu);
	if (ret)
		return ret;
	ret = misc_register(&edu_misc);
	if (ret)
		edu_drop(edu);
	return ret;
}

static void edu_remove(struct pci_dev *pdev)
{
	struct edu *edu = pci_get_drvdata(pdev);

	misc_deregister(&edu_misc);
	edu_drop(edu);
	pci_clear_master(pdev);
}

static const struct pci_device_id edu_ids[] = {
	{ PCI_DEVICE(0x1234, 0x11e8) },
	{}
};
MODULE_DEVICE_TABLE(pci, edu_ids);

static struct pci_driver edu_driver = {
	.name = "edu",
	.id_table = edu_ids,
	.probe = edu_probe,
	.remove = edu_remove,
};

module_pci_driver(edu_driver);
MODULE_DESCRIPTION("Copies memory by the DMA engine of QEMU's edu device");
MODULE_LICENSE("GPL");
