// SPDX-License-Identifier: GPL-2.0
#include <linux/atomic.h>
#include <linux/dma-mapping.h>
#include <linux/err.h>
#include <linux/irq_work.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/scatterlist.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/uaccess.h>
#include "core_peer.h"

/**
 * struct check_file - state of an open file
 * @lock: serialises the calls, except END
 * @own: true: @region is from PIN, false: from GET
 */
struct check_file {
	struct mutex lock;
	struct peerpin_region *region;
	bool own;
	struct peerpin_attach *attaches[CORE_CHECK_PEERS];
	struct check_flight flights[CORE_CHECK_FLIGHTS];
};

/* A call that runs in a hard interrupt */
struct check_call {
	struct irq_work work;
	struct check_file *file;
	struct core_check *c;
	int ret;
};

/* ---- regions and attachments --------------------------------------------------- */

static int check_keep(struct check_file *f, struct peerpin_region *r, bool own)
{
	if (IS_ERR(r))
		return PTR_ERR(r);
	f->region = r;
	f->own = own;
	return 0;
}

static int check_pin(struct check_file *f, struct core_check *c)
{
	const struct peerpin_range range = {
		.addr = c->addr,
		.length = c->length,
		.provider = c->provider,
		.flags = c->flags,
		.fd = c->fd,
	};

	if (f->region)
		return -EBUSY;
	return check_keep(f, peerpin_region_pin(&range, &c->out_reason), true);
}

static int check_get(struct check_file *f, struct core_check *c)
{
	if (f->region)
		return -EBUSY;
	return check_keep(f, peerpin_region_get(c->fd, c->region), false);
}

static int check_unpin(struct check_file *f)
{
	if (!f->region || !f->own)
		return -EBADF;
	peerpin_region_unpin(f->region);
	f->region = NULL;
	return 0;
}

static int check_put(struct check_file *f)
{
	if (!f->region || f->own)
		return -EBADF;
	peerpin_region_put(f->region);
	f->region = NULL;
	return 0;
}

static int check_range(struct check_file *f, struct core_check *c)
{
	if (!f->region)
		return -EBADF;
	c->out_start = peerpin_region_start(f->region);
	c->out_length = peerpin_region_length(f->region);
	return 0;
}

static int check_attach(struct check_file *f, const struct core_check *c)
{
	struct peerpin_attach *a;

	if (!f->region)
		return -EBADF;
	if (f->attaches[c->peer])
		return -EBUSY;
	a = check_peer_attach(c, f->region);
	if (IS_ERR(a))
		return PTR_ERR(a);
	f->attaches[c->peer] = a;
	return 0;
}

static int check_detach(struct check_file *f, const struct core_check *c)
{
	if (!f->attaches[c->peer])
		return -EBADF;
	peerpin_attach_put(f->attaches[c->peer]);
	f->attaches[c->peer] = NULL;
	return 0;
}

static void check_list(struct core_check *c, u64 bus, u32 length)
{
	if (c->out_count < CORE_CHECK_PIECES) {
		c->out_bus[c->out_count] = bus;
		c->out_len[c->out_count] = length;
	}
	c->out_count++;
}

static int check_sgt(struct check_file *f, struct core_check *c)
{
	const struct sg_table *sgt;
	struct scatterlist *sg;
	int i;

	if (!f->attaches[c->peer])
		return -EBADF;
	sgt = peerpin_attach_sgt(f->attaches[c->peer]);
	c->out_count = 0;
	for_each_sgtable_dma_sg(sgt, sg, i)
		check_list(c, sg_dma_address(sg), sg_dma_len(sg));
	return 0;
}

static int check_begin(struct check_file *f, const struct core_check *c)
{
	struct check_flight *flight = &f->flights[c->flight];
	int ret;

	if (!f->attaches[c->peer])
		return -EBADF;
	if (!list_empty(&flight->in_flights))
		return -EBUSY;
	flight->end_in_stop = c->end_in_stop;
	flight->wait_in_stop = c->wait_in_stop;
	ret = peerpin_dma_begin(f->attaches[c->peer], c->offset, c->length, DMA_BIDIRECTIONAL, &flight->dma);
	if (!ret)
		check_flight_add(flight);
	return ret;
}

static int check_walk(struct check_file *f, struct core_check *c)
{
	struct check_flight *flight = &f->flights[c->flight];
	dma_addr_t bus;
	u32 length;

	if (list_empty(&flight->in_flights))
		return -ENOENT;
	c->out_count = 0;
	while ((length = peerpin_dma_next(&flight->dma, c->max, &bus)))
		check_list(c, bus, length);
	return 0;
}

static int check_stale(struct check_file *f, struct core_check *c)
{
	struct check_flight *flight = &f->flights[c->flight];

	if (list_empty(&flight->in_flights))
		return -ENOENT;
	c->out_count = peerpin_dma_stale(&flight->dma);
	return 0;
}

static int check_end_again(struct check_file *f, struct core_check *c)
{
	struct check_flight *flight = &f->flights[c->flight];

	if (!list_empty(&flight->in_flights))
		return -EBUSY;
	peerpin_dma_end(&flight->dma);
	c->out_count = peerpin_dma_stale(&flight->dma);
	return 0;
}

static int check_transfer(const struct core_check *c)
{
	struct peerpin_region *r = peerpin_region_get(c->fd, c->region);
	struct peerpin_attach *a;
	struct peerpin_dma dma;
	int ret;

	if (IS_ERR(r))
		return PTR_ERR(r);
	a = check_peer_attach(c, r);
	peerpin_region_put(r);
	if (IS_ERR(a))
		return PTR_ERR(a);
	ret = peerpin_dma_begin(a, 0, c->length, DMA_BIDIRECTIONAL, &dma);
	if (!ret)
		peerpin_dma_end(&dma);
	peerpin_attach_put(a);
	return ret;
}

/* Counts the transfers before which another processor made one. */
static int check_transfers(struct core_check *c)
{
	static atomic_t last = ATOMIC_INIT(-1);
	int ret = 0, me;
	u32 i;

	c->out_count = 0;
	for (i = 0; i < c->max && !ret; i++) {
		me = raw_smp_processor_id();
		c->out_count += atomic_xchg(&last, me) != me;
		ret = check_transfer(c);
		cond_resched();
	}
	return ret;
}

/* ---- the ioctl ------------------------------------------------------------------ */

/* Calls that the API allows in any context */
static int check_any(struct check_file *f, struct core_check *c)
{
	switch (c->op) {
	case CORE_CHECK_PUT:
		return check_put(f);
	case CORE_CHECK_RANGE:
		return check_range(f, c);
	case CORE_CHECK_DETACH:
		return check_detach(f, c);
	case CORE_CHECK_SGT:
		return check_sgt(f, c);
	case CORE_CHECK_BEGIN:
		return check_begin(f, c);
	case CORE_CHECK_WALK:
		return check_walk(f, c);
	case CORE_CHECK_STALE:
		return check_stale(f, c);
	case CORE_CHECK_END:
		return check_flight_end(&f->flights[c->flight]);
	case CORE_CHECK_END_AGAIN:
		return check_end_again(f, c);
	default:
		return -EINVAL;
	}
}

static int check_process(struct check_file *f, struct core_check *c)
{
	switch (c->op) {
	case CORE_CHECK_STOPS:
		c->out_count = check_peer_stops(c->peer);
		return 0;
	case CORE_CHECK_PIN:
		return check_pin(f, c);
	case CORE_CHECK_GET:
		return check_get(f, c);
	case CORE_CHECK_UNPIN:
		return check_unpin(f);
	case CORE_CHECK_ATTACH:
		return check_attach(f, c);
	case CORE_CHECK_TRANSFERS:
		return check_transfers(c);
	default:
		return check_any(f, c);
	}
}

static void check_irq(struct irq_work *work)
{
	struct check_call *call = container_of(work, struct check_call, work);

	call->ret = in_hardirq() ? check_any(call->file, call->c) : -EDEADLK;
}

static int check_in_irq(struct check_file *f, struct core_check *c)
{
	struct check_call call = { .work = IRQ_WORK_INIT_HARD(check_irq), .file = f, .c = c };

	irq_work_queue(&call.work);
	irq_work_sync(&call.work);
	return call.ret;
}

static int check_here(struct check_file *f, struct core_check *c)
{
	return c->in_irq ? check_in_irq(f, c) : check_process(f, c);
}

static int check_op(struct check_file *f, struct core_check *c)
{
	int ret;

	if (c->peer >= CORE_CHECK_PEERS || c->flight >= CORE_CHECK_FLIGHTS)
		return -EINVAL;
	if (c->op == CORE_CHECK_REGISTER)
		return check_peer_register(c);
	if (c->op == CORE_CHECK_UNREGISTER)
		return check_peer_unregister(c->peer);
	/* Take no lock: another call may hold the lock and wait for this DMA. */
	if (c->op == CORE_CHECK_END)
		return check_here(f, c);
	mutex_lock(&f->lock);
	ret = check_here(f, c);
	mutex_unlock(&f->lock);
	return ret;
}

static long check_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	struct core_check *c;
	long ret;

	if (cmd != CORE_CHECK_IOC)
		return -ENOTTY;
	c = memdup_user((void __user *)arg, sizeof(*c));
	if (IS_ERR(c))
		return PTR_ERR(c);
	ret = check_op(filp->private_data, c);
	if (copy_to_user((void __user *)arg, c, sizeof(*c)))
		ret = -EFAULT;
	kfree(c);
	return ret;
}

static int check_open(struct inode *inode, struct file *filp)
{
	struct check_file *f = kzalloc(sizeof(*f), GFP_KERNEL);
	unsigned int i;

	if (!f)
		return -ENOMEM;
	mutex_init(&f->lock);
	for (i = 0; i < CORE_CHECK_FLIGHTS; i++)
		INIT_LIST_HEAD(&f->flights[i].in_flights);
	filp->private_data = f;
	return 0;
}

static int check_release(struct inode *inode, struct file *filp)
{
	struct check_file *f = filp->private_data;
	unsigned int i;

	for (i = 0; i < CORE_CHECK_FLIGHTS; i++)
		check_flight_end(&f->flights[i]);
	check_unpin(f);
	check_put(f);
	for (i = 0; i < CORE_CHECK_PEERS; i++)
		if (f->attaches[i])
			peerpin_attach_put(f->attaches[i]);
	kfree(f);
	return 0;
}

static const struct file_operations check_fops = {
	.owner = THIS_MODULE,
	.open = check_open,
	.release = check_release,
	.unlocked_ioctl = check_ioctl,
};

static struct miscdevice check_misc = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "core_check",
	.fops = &check_fops,
};

static int __init check_init(void)
{
	int ret = check_peers_init();

	if (ret)
		return ret;
	ret = misc_register(&check_misc);
	if (ret)
		check_peers_exit();
	return ret;
}

static void __exit check_exit(void)
{
	misc_deregister(&check_misc);
	check_peers_exit();
}

module_init(check_init);
module_exit(check_exit);
MODULE_DESCRIPTION("peerpin test driver: the whole in-kernel API");
MODULE_LICENSE("GPL");
