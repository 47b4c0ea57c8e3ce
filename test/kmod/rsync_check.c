// SPDX-License-Identifier: GPL-2.0
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/uaccess.h>

#include <nv-p2p.h>

#include "rsync_check.h"

/* The GPU driver must pass &data to each callback. */
static int data, other_data;

static int answer;
static unsigned int gets, puts;
static int last_mode;

static int get_mode(int *mode, void *from)
{
	if (from != &data)
		return -EBADSLT;
	if (answer)
		return answer;
	gets++;
	*mode = RSYNC_CHECK_MODE;
	return 0;
}

static void put_mode(int mode, void *from)
{
	puts += from == &data;
	last_mode = mode;
}

static void wait_for_rsync(struct pci_dev *gpu, void *from)
{
}

static nvidia_p2p_rsync_driver_t driver_with(u32 fault)
{
	nvidia_p2p_rsync_driver_t driver = {
		.version = NVIDIA_P2P_RSYNC_DRIVER_VERSION,
		.get_relaxed_ordering_mode = fault == RSYNC_CHECK_NO_GET ? NULL : get_mode,
		.put_relaxed_ordering_mode = fault == RSYNC_CHECK_NO_PUT ? NULL : put_mode,
		.wait_for_rsync = fault == RSYNC_CHECK_NO_WAIT ? NULL : wait_for_rsync,
	};

	if (fault == RSYNC_CHECK_OLD_MAJOR)
		driver.version -= 0x10000;
	if (fault == RSYNC_CHECK_OLD_MINOR)
		driver.version -= 1;
	return driver;
}

static void *data_with(u32 fault)
{
	return fault == RSYNC_CHECK_OTHER_DATA ? &other_data : &data;
}

static int op_register(struct rsync_check *req)
{
	nvidia_p2p_rsync_driver_t driver = driver_with(req->fault);

	return nvidia_p2p_register_rsync_driver(req->fault == RSYNC_CHECK_NULL ? NULL : &driver, data_with(req->fault));
}

static int op_unregister(struct rsync_check *req)
{
	nvidia_p2p_rsync_driver_t driver = driver_with(req->fault);

	nvidia_p2p_unregister_rsync_driver(req->fault == RSYNC_CHECK_NULL ? NULL : &driver, data_with(req->fault));
	return 0;
}

static int op_look(struct rsync_check *req)
{
	req->out_gets = gets;
	req->out_puts = puts;
	req->out_mode = last_mode;
	return 0;
}

static int op_answer(struct rsync_check *req)
{
	answer = req->error;
	return 0;
}

static int (*const ops[])(struct rsync_check *req) = {
	[RSYNC_CHECK_REGISTER] = op_register,
	[RSYNC_CHECK_UNREGISTER] = op_unregister,
	[RSYNC_CHECK_LOOK] = op_look,
	[RSYNC_CHECK_ANSWER] = op_answer,
};

static long check_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	void __user *user = (void __user *)arg;
	struct rsync_check req;
	int err;

	if (cmd != RSYNC_CHECK_IOC)
		return -ENOTTY;
	if (copy_from_user(&req, user, sizeof(req)))
		return -EFAULT;
	if (req.op >= ARRAY_SIZE(ops))
		return -EBADSLT;
	err = ops[req.op](&req);
	if (copy_to_user(user, &req, sizeof(req)))
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
	.name = "rsync_check",
	.fops = &check_fops,
};
module_misc_device(check_device);

MODULE_DESCRIPTION("A driver of the rsync calls of nv-p2p.h, for tests");
MODULE_LICENSE("GPL");
