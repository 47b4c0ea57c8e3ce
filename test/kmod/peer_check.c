// SPDX-License-Identifier: GPL-2.0
#include <linux/err.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <peerpin.h>
#include "peer_check.h"

/* A DMA in flight. The thread that clears @held ends the DMA. */
struct held_dma {
	struct peerpin_dma dma;
	atomic_t held;
};

/*
 * One peer, a few DMAs in flight, and one region of PEER_CHECK_PIN. @lock serialises the ioctls.
 * stop() must not take @lock: an ioctl may hold it and wait for stop().
 */
static DEFINE_MUTEX(lock);
static struct pci_dev *chip;
static struct peerpin_peer *peer;
static struct held_dma dmas[PEER_CHECK_HELD_MAX];
static atomic_t stops = ATOMIC_INIT(0);
static bool end_in_stop;
static struct peerpin_region *own;

static int check_end(void)
{
	int i, ret = -ENOENT;

	for (i = 0; i < PEER_CHECK_HELD_MAX; i++) {
		if (!atomic_xchg(&dmas[i].held, 0))
			continue;
		peerpin_dma_end(&dmas[i].dma);
		ret = 0;
	}
	return ret;
}

static void check_stop(void *data, struct peerpin_attach *attach)
{
	atomic_inc(&stops);
	if (end_in_stop)
		check_end();
}

static const struct peerpin_peer_ops check_ops = {
	.stop = check_stop,
};

static int check_register(void)
{
	struct peerpin_peer *p;

	if (peer)
		return -EEXIST;
	p = peerpin_peer_register(&chip->dev, &check_ops, NULL);
	if (IS_ERR(p))
		return PTR_ERR(p);
	peer = p;
	return 0;
}

static int check_unregister(void)
{
	if (!peer)
		return -ENOENT;
	peerpin_peer_unregister(peer);
	peer = NULL;
	return 0;
}

static struct peerpin_attach *check_attach(const struct peer_check *c)
{
	struct peerpin_region *region = peerpin_region_get(c->fd, c->region);
	struct peerpin_attach *attach;

	if (IS_ERR(region))
		return ERR_CAST(region);
	attach = peerpin_attach(peer, region);
	peerpin_region_put(region);
	return attach;
}

static int check_begin(const struct peer_check *c, struct peerpin_dma *d)
{
	struct peerpin_attach *attach;
	int ret;

	attach = check_attach(c);
	if (IS_ERR(attach))
		return PTR_ERR(attach);
	ret = peerpin_dma_begin(attach, c->offset, c->length,
				DMA_BIDIRECTIONAL, d);
	peerpin_attach_put(attach);
	return ret;
}

static int check_segments(struct peer_check *c)
{
	struct peerpin_dma d;
	dma_addr_t bus;
	int ret;
	u32 len;

	ret = check_begin(c, &d);
	if (ret)
		return ret;
	c->out_count = 0;
	while ((len = peerpin_dma_next(&d, c->max, &bus))) {
		if (c->out_count < PEER_CHECK_SEGMENTS_MAX) {
			c->out_bus[c->out_count] = bus;
			c->out_len[c->out_count] = len;
		}
		c->out_count++;
	}
	peerpin_dma_end(&d);
	return 0;
}

static int check_hold(const struct peer_check *c)
{
	int i, ret;

	for (i = 0; i < PEER_CHECK_HELD_MAX; i++)
		if (!atomic_read(&dmas[i].held))
			break;
	if (i == PEER_CHECK_HELD_MAX)
		return -EBUSY;
	end_in_stop = c->end_in_stop;
	ret = check_begin(c, &dmas[i].dma);
	if (!ret)
		atomic_set(&dmas[i].held, 1);
	return ret;
}

static int check_pin(struct peer_check *c)
{
	const struct peerpin_range range = { .addr = c->offset, .length = c->length };
	struct peerpin_region *r;

	if (own)
		return -EBUSY;
	r = peerpin_region_pin(&range, &c->out_count);
	if (IS_ERR(r))
		return PTR_ERR(r);
	own = r;
	return 0;
}

static int check_unpin(void)
{
	if (!own)
		return -ENOENT;
	peerpin_region_unpin(own);
	own = NULL;
	return 0;
}

static int check_op(struct peer_check *c)
{
	switch (c->op) {
	case PEER_CHECK_REGISTER:
		return check_register();
	case PEER_CHECK_UNREGISTER:
		return check_unregister();
	case PEER_CHECK_SEGMENTS:
		return peer ? check_segments(c) : -ENODEV;
	case PEER_CHECK_HOLD:
		return peer ? check_hold(c) : -ENODEV;
	case PEER_CHECK_END:
		return check_end();
	case PEER_CHECK_STOPS:
		c->out_count = atomic_read(&stops);
		return 0;
	case PEER_CHECK_PIN:
		return check_pin(c);
	case PEER_CHECK_UNPIN:
		return check_unpin();
	default:
		return -EINVAL;
	}
}

static int check_locked(struct peer_check *c)
{
	int ret;

	/* Take no lock: UNREGISTER may hold the lock and wait for this DMA. */
	if (c->op == PEER_CHECK_END)
		return check_op(c);
	mutex_lock(&lock);
	ret = check_op(c);
	mutex_unlock(&lock);
	return ret;
}

static long check_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	struct peer_check *c;
	long ret;

	if (cmd != PEER_CHECK_IOC)
		return -ENOTTY;
	c = memdup_user((void __user *)arg, sizeof(*c));
	if (IS_ERR(c))
		return PTR_ERR(c);
	ret = check_locked(c);
	if (copy_to_user((void __user *)arg, c, sizeof(*c)))
		ret = -EFAULT;
	kfree(c);
	return ret;
}

static const struct file_operations check_fops = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = check_ioctl,
};

static struct miscdevice check_misc = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "peer_check",
	.fops = &check_fops,
};

static int __init check_init(void)
{
	int ret;

	chip = pci_get_device(PCI_VENDOR_ID_LSI_LOGIC,
			      PCI_DEVICE_ID_LSI_53C895A, NULL);
	if (!chip)
		return -ENODEV;
	ret = misc_register(&check_misc);
	if (ret)
		pci_dev_put(chip);
	return ret;
}

static void __exit check_exit(void)
{
	misc_deregister(&check_misc);
	check_end();
	check_unpin();
	check_unregister();
	pci_dev_put(chip);
}

module_init(check_init);
module_exit(check_exit);
MODULE_DESCRIPTION("peerpin test driver");
MODULE_LICENSE("GPL");
