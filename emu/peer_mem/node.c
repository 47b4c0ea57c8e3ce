// SPDX-License-Identifier: GPL-2.0
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include "chip.h"
#include "device.h"
#include "umem.h"

static const struct file_operations node_fops;

static int node_tell(struct shim_umem *u, struct ib_peer *arg)
{
	mutex_lock(&u->steps);
	arg->out_state = u->state;
	if (u->client)
		strscpy(arg->out_name, u->client->calls->name, sizeof(arg->out_name));
	arg->out_invalidated = atomic_read(&u->invalidated);
	arg->out_told = atomic_read(&u->told);
	arg->out_overdue = atomic_read(&u->overdue);
	arg->out_unmaps = atomic_read(&u->unmaps);
	arg->out_puts = atomic_read(&u->puts);
	mutex_unlock(&u->steps);
	return 0;
}

/* ---- addresses ------------------------------------------------------------------- */

static void node_list_one(struct ib_peer *arg, struct scatterlist *sg)
{
	if (arg->out_count < IB_PEER_PIECES) {
		arg->out_bus[arg->out_count] = sg_dma_address(sg);
		arg->out_len[arg->out_count] = sg_dma_len(sg);
	}
	arg->out_count++;
}

static int node_list(struct shim_umem *u, struct ib_peer *arg)
{
	struct scatterlist *sg;
	int i, ret = -ESTALE;

	arg->out_count = 0;
	mutex_lock(&u->dma);
	if (u->usable) {
		for_each_sg(u->sgt.sgl, sg, u->sgt.nents, i)
			node_list_one(arg, sg);
		ret = 0;
	}
	mutex_unlock(&u->dma);
	return ret;
}

static int node_look(struct ib_peer *arg)
{
	return shim_device_look(arg->device, arg->addr, &arg->out_phys);
}

/* ---- DMA of an adapter --------------------------------------------------------------- */

/*
 * Returns the number of contiguous bytes at @offset of the registration, and their bus address in
 * *@bus. Returns 0 if @offset is outside of the registration.
 */
static u32 node_piece(struct shim_umem *u, u64 offset, u64 *bus)
{
	struct scatterlist *sg;
	int i;

	offset += offset_in_page(u->addr);
	for_each_sg(u->sgt.sgl, sg, u->sgt.nents, i) {
		if (offset < sg_dma_len(sg)) {
			*bus = sg_dma_address(sg) + offset;
			return sg_dma_len(sg) - offset;
		}
		offset -= sg_dma_len(sg);
	}
	return 0;
}

static int node_move(struct shim_umem *to, struct shim_umem *from, const struct ib_peer *arg)
{
	u64 done, to_bus, from_bus;
	u32 length;
	int ret;

	for (done = 0; done < arg->length; done += length) {
		length = min_t(u64, arg->length - done, SZ_1M);
		length = min(length, node_piece(to, arg->offset + done, &to_bus));
		length = min(length, node_piece(from, arg->from_offset + done, &from_bus));
		if (!length)
			return -EINVAL;
		ret = shim_chip_move(to_bus, from_bus, length);
		if (ret)
			return ret;
	}
	return 0;
}

static int node_move_usable(struct shim_umem *to, struct shim_umem *from, const struct ib_peer *arg)
{
	if (!to->usable || !from->usable)
		return -ESTALE;
	if (to->dev != shim_chip_device() || from->dev != shim_chip_device())
		return -EINVAL;
	return node_move(to, from, arg);
}

static int node_copy_between(struct shim_umem *to, struct shim_umem *from, const struct ib_peer *arg)
{
	struct shim_umem *first = min(to, from), *second = max(to, from);
	int ret;

	mutex_lock(&first->dma);
	if (second != first)
		mutex_lock_nested(&second->dma, SINGLE_DEPTH_NESTING);
	ret = node_move_usable(to, from, arg);
	if (second != first)
		mutex_unlock(&second->dma);
	mutex_unlock(&first->dma);
	return ret;
}

static int node_copy(struct shim_umem *to, const struct ib_peer *arg)
{
	struct file *other = fget(arg->from);
	int ret = -EBADF;

	if (!other)
		return ret;
	if (other->f_op == &node_fops)
		ret = node_copy_between(to, other->private_data, arg);
	fput(other);
	return ret;
}

/* ---- the node ----------------------------------------------------------------------- */

static int node_do(struct shim_umem *u, struct ib_peer *arg)
{
	switch (arg->op) {
	case IB_PEER_STATE:
		return node_tell(u, arg);
	case IB_PEER_LIST:
		return node_list(u, arg);
	case IB_PEER_LOOK:
		return node_look(arg);
	case IB_PEER_COPY:
		return node_copy(u, arg);
	default:
		return shim_umem_step(u, arg);
	}
}

static long node_ioctl(struct file *filp, unsigned int cmd, unsigned long user)
{
	struct ib_peer *arg;
	long ret;

	if (cmd != IB_PEER_IOC)
		return -ENOTTY;
	arg = memdup_user((void __user *)user, sizeof(*arg));
	if (IS_ERR(arg))
		return PTR_ERR(arg);
	ret = node_do(filp->private_data, arg);
	if (copy_to_user((void __user *)user, arg, sizeof(*arg)))
		ret = -EFAULT;
	kfree(arg);
	return ret;
}

static int node_open(struct inode *inode, struct file *filp)
{
	struct shim_umem *u = shim_umem_new();

	filp->private_data = u;
	return u ? 0 : -ENOMEM;
}

static int node_release(struct inode *inode, struct file *filp)
{
	struct shim_umem *u = filp->private_data;

	shim_umem_end(u);
	shim_umem_put(u);
	return 0;
}

static const struct file_operations node_fops = {
	.owner = THIS_MODULE,
	.open = node_open,
	.release = node_release,
	.unlocked_ioctl = node_ioctl,
};

static struct miscdevice node = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "ib_peer_shim",
	.fops = &node_fops,
};

static int __init node_init(void)
{
	int ret = misc_register(&node);

	if (ret)
		return ret;
	ret = shim_devices_init(node.this_device);
	if (ret)
		goto err_node;
	ret = shim_chip_init();
	if (!ret)
		return 0;
	shim_devices_exit();
err_node:
	misc_deregister(&node);
	return ret;
}

static void __exit node_exit(void)
{
	misc_deregister(&node);
	shim_chip_exit();
	shim_devices_exit();
}

module_init(node_init);
module_exit(node_exit);
MODULE_DESCRIPTION("An InfiniBand core with peer memory clients, for tests");
MODULE_LICENSE("GPL");
