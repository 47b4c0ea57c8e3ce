// SPDX-License-Identifier: GPL-2.0
#include <linux/fs.h>
#include <linux/ktime.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/uaccess.h>
#include <nv-p2p.h>
#include "pin_bare.h"

/* A benchmark must not free GPU memory while the memory is pinned. */
static void bare_freed(void *data)
{
	pr_err("pin_bare: the memory was freed during the measurement; the result is not valid\n");
}

static int bare_once(const struct pin_bare *c)
{
	struct nvidia_p2p_page_table *table;
	int ret;

	ret = nvidia_p2p_get_pages(0, 0, c->addr, c->length, &table, bare_freed, NULL);
	return ret ?: nvidia_p2p_put_pages(0, 0, c->addr, table);
}

static int bare_measure(struct pin_bare *c)
{
	ktime_t start = ktime_get();
	int ret = 0;
	u64 i;

	for (i = 0; i < c->count && !ret; i++)
		ret = bare_once(c);
	c->out_ns = ktime_to_ns(ktime_sub(ktime_get(), start));
	return ret;
}

static long bare_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	struct pin_bare c;
	int ret;

	if (cmd != PIN_BARE_IOC)
		return -ENOTTY;
	if (copy_from_user(&c, (void __user *)arg, sizeof(c)))
		return -EFAULT;
	ret = bare_measure(&c);
	if (copy_to_user((void __user *)arg, &c, sizeof(c)))
		return -EFAULT;
	return ret;
}

static const struct file_operations bare_fops = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = bare_ioctl,
};

static struct miscdevice bare_misc = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "pin_bare",
	.fops = &bare_fops,
};

module_misc_device(bare_misc);
MODULE_DESCRIPTION("cost of pinning without peerpin");
MODULE_LICENSE("GPL");
