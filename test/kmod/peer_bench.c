// SPDX-License-Identifier: GPL-2.0
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/ktime.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/workqueue.h>
#include <peerpin.h>
#include "peer_bench.h"

enum { REGIONS_MAX = 1 << 20 };

/* Serialises the ioctls. stop() takes no lock: the thread that clears @held ends the DMA. */
static DEFINE_MUTEX(lock);
static struct pci_dev *chip;
static struct peerpin_peer *peers[PEER_BENCH_PEERS];
static struct peerpin_dma dma;
static atomic_t held = ATOMIC_INIT(0);
static unsigned int end_ms;
static u64 ended_at, unregistering_at, stop_ns;

static void bench_end_dma(struct work_struct *work)
{
	if (!atomic_xchg(&held, 0))
		return;
	ended_at = ktime_get_ns();
	peerpin_dma_end(&dma);
}
static DECLARE_DELAYED_WORK(end_work, bench_end_dma);

static void bench_stop(void *data, struct peerpin_attach *attach)
{
	stop_ns = ktime_get_ns() - unregistering_at;
	if (end_ms)
		schedule_delayed_work(&end_work, msecs_to_jiffies(end_ms));
}

static const struct peerpin_peer_ops bench_ops = {
	.stop = bench_stop,
};

static int bench_register(unsigned int i)
{
	struct peerpin_peer *peer = peerpin_peer_register(&chip->dev, &bench_ops, NULL);

	if (IS_ERR(peer))
		return PTR_ERR(peer);
	peers[i] = peer;
	return 0;
}

static void bench_unregister(unsigned int i)
{
	unregistering_at = ktime_get_ns();
	if (peers[i])
		peerpin_peer_unregister(peers[i]);
	peers[i] = NULL;
}

static struct peerpin_attach *bench_find(struct peerpin_peer *peer, int fd,
					 u32 id)
{
	struct peerpin_region *region = peer ? peerpin_region_get(fd, id) : ERR_PTR(-ENXIO);
	struct peerpin_attach *attach;

	if (IS_ERR(region))
		return ERR_CAST(region);
	attach = peerpin_attach(peer, region);
	peerpin_region_put(region);
	return attach;
}

static int bench_attach_one(const struct peer_bench *c, u32 region)
{
	struct peerpin_attach *attach;
	unsigned int i;

	for (i = 0; i < c->peers; i++) {
		attach = bench_find(peers[i], c->fd, region);
		if (IS_ERR(attach))
			return PTR_ERR(attach);
		peerpin_attach_put(attach);
	}
	return 0;
}

static int bench_attach(struct peer_bench *c, const u32 *regions)
{
	u64 start = ktime_get_ns();
	int ret = 0;
	u32 i;

	for (i = 0; i < c->count && !ret; i++, cond_resched())
		ret = bench_attach_one(c, regions[i]);
	c->out_ns = ktime_get_ns() - start;
	return ret;
}

static int bench_hold(const struct peer_bench *c, u32 region)
{
	struct peerpin_attach *attach;
	int ret;

	if (atomic_read(&held))
		return -EBUSY;
	attach = bench_find(peers[c->peers - 1], c->fd, region);
	if (IS_ERR(attach))
		return PTR_ERR(attach);
	end_ms = c->end_ms;
	ret = peerpin_dma_begin(attach, 0, 4096, DMA_BIDIRECTIONAL, &dma);
	peerpin_attach_put(attach);
	if (!ret)
		atomic_set(&held, 1);
	return ret;
}

static int bench_end(struct peer_bench *c)
{
	cancel_delayed_work_sync(&end_work);
	bench_end_dma(NULL);
	c->out_ns = ended_at;
	return 0;
}

/* A peer that could not be registered again is NULL. */
static int bench_renew(struct peer_bench *c)
{
	u64 start = ktime_get_ns();
	int ret = 0;
	unsigned int i;

	for (i = 0; i < c->peers; i++)
		bench_unregister(i);
	c->out_ns = ktime_get_ns() - start;
	c->out_stop_ns = stop_ns;
	for (i = 0; i < c->peers && !ret; i++)
		ret = bench_register(i);
	return ret;
}

/* ---- transfers --------------------------------------------------------------------- */

static int bench_transfer(struct peerpin_attach *attach)
{
	struct peerpin_dma transfer;
	dma_addr_t bus;
	int ret;

	ret = peerpin_dma_begin(attach, 0, 4096, DMA_FROM_DEVICE, &transfer);
	if (ret)
		return ret;
	peerpin_dma_next(&transfer, 4096, &bus);
	peerpin_dma_end(&transfer);
	return 0;
}

static int bench_look_up(const struct peer_bench *c, u32 region)
{
	struct peerpin_attach *attach = bench_find(peers[0], c->fd, region);
	int ret;

	if (IS_ERR(attach))
		return PTR_ERR(attach);
	ret = bench_transfer(attach);
	peerpin_attach_put(attach);
	return ret;
}

/* The counts that earlier versions of peerpin changed for each transfer */
struct bench_counts {
	spinlock_t lock;
	struct kref ref;
	unsigned int attach;
	unsigned int region;
	atomic_t peer;
	wait_queue_head_t idle;
};

static struct bench_counts shared;

static void counts_init(struct bench_counts *n)
{
	spin_lock_init(&n->lock);
	kref_init(&n->ref);
	init_waitqueue_head(&n->idle);
}

static void counts_release(struct kref *ref)
{
}

static void bench_locked(struct bench_counts *n)
{
	unsigned long flags;

	spin_lock_irqsave(&n->lock, flags);
	kref_get(&n->ref);
	n->attach++;
	n->region++;
	atomic_inc(&n->peer);
	spin_unlock_irqrestore(&n->lock, flags);

	spin_lock_irqsave(&n->lock, flags);
	if (!--n->attach)
		wake_up_all(&n->idle);
	if (!--n->region)
		wake_up_all(&n->idle);
	spin_unlock_irqrestore(&n->lock, flags);
	if (atomic_dec_and_test(&n->peer))
		wake_up_all(&n->idle);
	kref_put(&n->ref, counts_release);
}

/* One round of @c->op; @own: counts that only this call uses, for PRIVATE */
static int bench_round(const struct peer_bench *c, struct peerpin_attach *attach, u32 region,
		       struct bench_counts *own)
{
	if (c->op == PEER_BENCH_TRANSFER)
		return bench_transfer(attach);
	if (c->op == PEER_BENCH_LOOK_UP)
		return bench_look_up(c, region);
	bench_locked(c->op == PEER_BENCH_PRIVATE ? own : &shared);
	return 0;
}

/* Without a mutex: threads call this at the same time. */
static int bench_rounds(struct peer_bench *c, u32 region)
{
	struct peerpin_attach *attach = bench_find(peers[0], c->fd, region);
	struct bench_counts own = {};
	int ret = 0;
	u64 start;
	u32 i;

	if (IS_ERR(attach))
		return PTR_ERR(attach);
	counts_init(&own);
	start = ktime_get_ns();
	for (i = 0; i < c->rounds && !ret; i++)
		ret = bench_round(c, attach, region, &own);
	c->out_ns = ktime_get_ns() - start;
	peerpin_attach_put(attach);
	return ret;
}

/* ---- the ioctl ---------------------------------------------------------------------- */

static int bench_op(struct peer_bench *c, const u32 *regions)
{
	switch (c->op) {
	case PEER_BENCH_ATTACH:
		return bench_attach(c, regions);
	case PEER_BENCH_HOLD:
		return bench_hold(c, regions[0]);
	case PEER_BENCH_END:
		return bench_end(c);
	case PEER_BENCH_RENEW:
		return bench_renew(c);
	default:
		return -EINVAL;
	}
}

static int bench_with_regions(struct peer_bench *c)
{
	u32 *regions;
	int ret;

	if (!c->count || c->count > REGIONS_MAX || !c->peers ||
	    c->peers > PEER_BENCH_PEERS)
		return -EINVAL;
	regions = vmemdup_user((void __user *)(uintptr_t)c->regions, c->count * sizeof(*regions));
	if (IS_ERR(regions))
		return PTR_ERR(regions);
	if (c->op >= PEER_BENCH_TRANSFER && c->op <= PEER_BENCH_PRIVATE) {
		ret = bench_rounds(c, regions[0]);
	} else {
		mutex_lock(&lock);
		ret = bench_op(c, regions);
		mutex_unlock(&lock);
	}
	kvfree(regions);
	return ret;
}

static long bench_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	struct peer_bench c;
	int ret;

	if (cmd != PEER_BENCH_IOC)
		return -ENOTTY;
	if (copy_from_user(&c, (void __user *)arg, sizeof(c)))
		return -EFAULT;
	ret = bench_with_regions(&c);
	if (copy_to_user((void __user *)arg, &c, sizeof(c)))
		return -EFAULT;
	return ret;
}

static const struct file_operations bench_fops = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = bench_ioctl,
};

static struct miscdevice bench_misc = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "peer_bench",
	.fops = &bench_fops,
};

static void bench_unregister_all(void)
{
	unsigned int i;

	for (i = 0; i < PEER_BENCH_PEERS; i++)
		bench_unregister(i);
}

static int bench_register_all(void)
{
	unsigned int i;
	int ret = 0;

	for (i = 0; i < PEER_BENCH_PEERS && !ret; i++)
		ret = bench_register(i);
	return ret;
}

static int __init bench_init(void)
{
	int ret;

	chip = pci_get_device(PCI_VENDOR_ID_LSI_LOGIC,
			      PCI_DEVICE_ID_LSI_53C895A, NULL);
	if (!chip)
		return -ENODEV;
	counts_init(&shared);
	ret = bench_register_all();
	if (!ret)
		ret = misc_register(&bench_misc);
	if (!ret)
		return 0;
	bench_unregister_all();
	pci_dev_put(chip);
	return ret;
}

static void __exit bench_exit(void)
{
	misc_deregister(&bench_misc);
	cancel_delayed_work_sync(&end_work);
	bench_end_dma(NULL);
	bench_unregister_all();
	pci_dev_put(chip);
}

module_init(bench_init);
module_exit(bench_exit);
MODULE_DESCRIPTION("peerpin benchmark driver");
MODULE_LICENSE("GPL");
