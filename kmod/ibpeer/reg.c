// SPDX-License-Identifier: GPL-2.0
/*
 * How a registration ends if its memory is freed. peerpin.ko calls stop() in the freeing thread,
 * which may hold the GPU driver's lock. The InfiniBand core's invalidate waits for a thread that
 * registers or unregisters, which may allocate or wait for hardware. So stop() queues a work item,
 * which calls invalidate. peerpin.ko waits for the end of the transfer, as for any driver.
 *
 * A transfer is in flight from dma_map on. If the memory is freed earlier, dma_map fails. So no
 * invalidation is lost, and none comes for memory that the InfiniBand core has not mapped.
 *
 * The InfiniBand core may call dma_unmap, put_pages and even release from invalidate, or from
 * another thread with a lock held that invalidate takes. Of these three only release waits for the
 * GPU driver: the core calls release without that lock.
 */
#include <linux/err.h>
#include <linux/hashtable.h>
#include <linux/kref.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/wait_bit.h>
#include <linux/workqueue.h>
#include <peerpin.h>
#include "../uapi/peerpin.h"
#include "device.h"
#include "reg.h"

/* Bits of struct ibpeer_reg.flags */
enum {
	REG_IN_FLIGHT,	/* @dma has begun, or is about to begin */
	REG_BEGINNING,	/* peerpin_dma_begin() has not returned */
};

/**
 * struct ibpeer_reg - one registration
 * @ref: references: one from acquire to release, one of the queued work item
 * @region: the region; ERR_PTR if the GPU memory cannot be pinned
 * @addr: address of the first page
 * @length: bytes, in whole pages
 * @device: valid while @attach is not NULL
 * @attach: attachment, from dma_map to release
 * @in_regs: entry in regs, with @attach as key; listed if the pin is revocable
 * @sgt: list of the range's bus addresses; the InfiniBand core has a copy
 */
struct ibpeer_reg {
	struct kref ref;
	const struct ibpeer_core *core;
	u64 core_context;
	struct peerpin_region *region;
	u64 addr;
	u64 length;
	struct ibpeer_device *device;
	struct peerpin_attach *attach;
	struct hlist_node in_regs;
	struct sg_table sgt;
	unsigned long flags;
	struct peerpin_dma dma;
	struct work_struct work;
};

static struct workqueue_struct *regs_wq;
static DEFINE_HASHTABLE(regs, 10);
static DEFINE_SPINLOCK(regs_lock);

static void reg_free(struct kref *ref)
{
	kfree(container_of(ref, struct ibpeer_reg, ref));
}

static void reg_put(struct ibpeer_reg *reg)
{
	kref_put(&reg->ref, reg_free);
}

/* ---- invalidation ------------------------------------------------------------ */

static void regs_add(struct ibpeer_reg *reg)
{
	spin_lock(&regs_lock);
	hash_add(regs, &reg->in_regs, (unsigned long)reg->attach);
	spin_unlock(&regs_lock);
}

static void regs_del(struct ibpeer_reg *reg)
{
	spin_lock(&regs_lock);
	hash_del(&reg->in_regs);
	spin_unlock(&regs_lock);
}

static struct ibpeer_reg *regs_find(const struct peerpin_attach *attach)
{
	struct ibpeer_reg *reg;

	spin_lock(&regs_lock);
	hash_for_each_possible(regs, reg, in_regs, (unsigned long)attach) {
		if (reg->attach == attach) {
			kref_get(&reg->ref);
			goto out;
		}
	}
	reg = NULL;
out:
	spin_unlock(&regs_lock);
	return reg;
}

/*
 * After invalidate the device does not use the memory. If a registration is in progress, some
 * InfiniBand cores do not wait and do not call dma_unmap. So end the transfer here.
 */
static void reg_invalidate(struct work_struct *work)
{
	struct ibpeer_reg *reg = container_of(work, struct ibpeer_reg, work);

	if (test_bit(REG_IN_FLIGHT, &reg->flags))
		reg->core->invalidate(reg->core->handle, reg->core_context);
	wait_on_bit(&reg->flags, REG_BEGINNING, TASK_UNINTERRUPTIBLE);
	ibpeer_reg_end(reg);
	reg_put(reg);
}

/* Called once for an attachment, hence once for a registration. So queue_work() cannot fail. */
static void reg_stop(void *unused, struct peerpin_attach *attach)
{
	struct ibpeer_reg *reg = regs_find(attach);

	if (reg)
		queue_work(regs_wq, &reg->work);
}

static const struct peerpin_peer_ops reg_peer_ops = {
	.stop = reg_stop,
};

/* ---- pinning ----------------------------------------------------------------- */

enum {
	PIN_TRIES = 8,
};

/*
 * What acquire returns if there is no memory for a struct ibpeer_reg; never freed. ibpeer_reg_name() then
 * fails with -ENOMEM. If acquire refused the range instead, the InfiniBand core would ask the next client,
 * which makes the other kind of pin.
 */
static struct ibpeer_reg reg_no_memory = {
	.ref = KREF_INIT(1),
	.region = (void *)-ENOMEM,
};

static struct ibpeer_reg *reg_refused(void)
{
	kref_get(&reg_no_memory.ref);
	return &reg_no_memory;
}

/*
 * True also if the pin failed for lack of memory or of BAR1 space, because drivers were unbound during the pin, or by a
 * signal. Then the registration fails with this error, and the core does not ask the next client: see reg_no_memory.
 */
static bool reg_is_ours(const struct peerpin_region *r)
{
	return !IS_ERR(r) || PTR_ERR(r) == -ENOMEM || PTR_ERR(r) == -ESTALE || PTR_ERR(r) == -EINTR;
}

/* -ESTALE: freed during the pin; or, if persistent, a PCI driver was unbound, and each unbinding can fail two pins. */
static struct peerpin_region *reg_pin_by(struct peerpin_range *range)
{
	struct peerpin_region *r;
	unsigned int tries = PIN_TRIES;

	do
		r = peerpin_region_pin(range, NULL);
	while (r == ERR_PTR(-ESTALE) && --tries);
	return r;
}

static bool reg_pin(struct ibpeer_reg *reg)
{
	static const u32 owners[] = { PEERPIN_PROVIDER_NV, PEERPIN_PROVIDER_TEGRA };
	struct peerpin_range range = {
		.addr = reg->addr,
		.length = reg->length,
		.flags = reg->core->invalidate ? 0 : PEERPIN_PIN_PERSISTENT,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(owners); i++) {
		range.provider = owners[i];
		reg->region = reg_pin_by(&range);
		if (reg_is_ours(reg->region))
			return true;
	}
	return false;
}

struct ibpeer_reg *ibpeer_reg_new(const struct ibpeer_core *core,
				  unsigned long addr, size_t size)
{
	struct ibpeer_reg *reg;
	unsigned long end;

	if (check_add_overflow(addr, size, &end))
		return ERR_PTR(-EINVAL);
	reg = kzalloc(sizeof(*reg), GFP_KERNEL_ACCOUNT);
	if (!reg)
		return reg_refused();
	kref_init(&reg->ref);
	INIT_WORK(&reg->work, reg_invalidate);
	reg->core = core;
	reg->addr = addr & PAGE_MASK;
	reg->length = PAGE_ALIGN(end) - reg->addr;
	if (reg_pin(reg))
		return reg;
	kfree(reg);
	return ERR_PTR(-EINVAL);
}

int ibpeer_reg_name(struct ibpeer_reg *reg, u64 core_context)
{
	if (IS_ERR(reg->region))
		return PTR_ERR(reg->region);
	reg->core_context = core_context;
	return 0;
}

/* ---- mapping ----------------------------------------------------------------- */

/*
 * Cut @from, the bus addresses of the region in whole GPU pages, to the range of the
 * registration. Fill in @to if not NULL. Return: the number of entries.
 */
static unsigned int reg_cut(const struct ibpeer_reg *reg,
			    const struct sg_table *from, struct scatterlist *to)
{
	u64 start = reg->addr - peerpin_region_start(reg->region);
	u64 at = 0, first, last;
	unsigned int count = 0;
	struct scatterlist *sg;
	int i;

	for_each_sgtable_dma_sg(from, sg, i) {
		first = max(start, at);
		last = min(start + reg->length, at + sg_dma_len(sg));
		at += sg_dma_len(sg);
		if (first >= last)
			continue;
		count++;
		if (!to)
			continue;
		sg_set_page(to, NULL, last - first, 0);
		sg_dma_address(to) = sg_dma_address(sg) + first - (at - sg_dma_len(sg));
		sg_dma_len(to) = last - first;
		to = sg_next(to);
	}
	return count;
}

/* The device's segment limits can cut the list anywhere; RDMA hardware needs whole pages. */
static bool reg_is_whole_pages(const struct sg_table *sgt)
{
	struct scatterlist *sg;
	int i;

	for_each_sgtable_dma_sg(sgt, sg, i)
		if (!PAGE_ALIGNED(sg_dma_address(sg) | sg_dma_len(sg)))
			return false;
	return true;
}

static int reg_list(struct ibpeer_reg *reg)
{
	const struct sg_table *from = peerpin_attach_sgt(reg->attach);

	if (peerpin_attach_bounced(reg->attach) || !reg_is_whole_pages(from))
		return -EIO;
	if (sg_alloc_table(&reg->sgt, reg_cut(reg, from, NULL), GFP_KERNEL_ACCOUNT))
		return -ENOMEM;
	reg_cut(reg, from, reg->sgt.sgl);
	return 0;
}

/*
 * The last step of dma_map: from here on the memory may be invalidated. Set REG_IN_FLIGHT first:
 * stop() can run before peerpin_dma_begin() has returned.
 */
static int reg_begin(struct ibpeer_reg *reg)
{
	int ret;

	if (reg->core->invalidate)
		regs_add(reg);
	set_bit(REG_BEGINNING, &reg->flags);
	set_bit(REG_IN_FLIGHT, &reg->flags);
	ret = peerpin_dma_begin(reg->attach,
				reg->addr - peerpin_region_start(reg->region),
				reg->length, DMA_BIDIRECTIONAL, &reg->dma);
	if (ret)
		clear_bit(REG_IN_FLIGHT, &reg->flags);
	clear_and_wake_up_bit(REG_BEGINNING, &reg->flags);
	return ret;
}

static int reg_attach(struct ibpeer_reg *reg, struct device *dev)
{
	struct peerpin_attach *attach;

	reg->device = ibpeer_device_get(dev, &reg_peer_ops);
	if (IS_ERR(reg->device))
		return PTR_ERR(reg->device);
	attach = peerpin_attach(ibpeer_device_peer(reg->device), reg->region);
	if (IS_ERR(attach)) {
		ibpeer_device_put(reg->device);
		return PTR_ERR(attach);
	}
	reg->attach = attach;
	return 0;
}

static void reg_unlist(struct ibpeer_reg *reg)
{
	if (!reg->attach)
		return;
	regs_del(reg);
	sg_free_table(&reg->sgt);
}

static void reg_detach(struct ibpeer_reg *reg)
{
	if (!reg->attach)
		return;
	peerpin_attach_put(reg->attach);
	reg->attach = NULL;
	ibpeer_device_put(reg->device);
}

/* First drops the attachment of an earlier map. peerpin_attach() finds the mapping again. */
static int reg_remap(struct ibpeer_reg *reg, struct device *dev)
{
	int ret;

	reg_unlist(reg);
	reg_detach(reg);
	ret = reg_attach(reg, dev);
	if (!ret)
		ret = reg_list(reg);
	return ret ?: reg_begin(reg);
}

int ibpeer_reg_map(struct ibpeer_reg *reg, struct device *dev,
		   struct sg_table *sgt)
{
	int ret;

	if (test_bit(REG_IN_FLIGHT, &reg->flags))
		return -EBUSY;
	ret = reg_remap(reg, dev);
	if (!ret)
		*sgt = reg->sgt;
	return ret;
}

void ibpeer_reg_end(struct ibpeer_reg *reg)
{
	if (test_and_clear_bit(REG_IN_FLIGHT, &reg->flags))
		peerpin_dma_end(&reg->dma);
}

void ibpeer_reg_release(struct ibpeer_reg *reg)
{
	ibpeer_reg_end(reg);
	reg_unlist(reg);
	if (!IS_ERR(reg->region))
		peerpin_region_unpin(reg->region);
	reg_detach(reg);
	reg_put(reg);
}

void ibpeer_regs_flush(void)
{
	flush_workqueue(regs_wq);
}

int ibpeer_regs_init(void)
{
	regs_wq = alloc_workqueue("peerpin_ibpeer", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	return regs_wq ? 0 : -ENOMEM;
}

void ibpeer_regs_exit(void)
{
	destroy_workqueue(regs_wq);
}
