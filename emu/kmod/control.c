// SPDX-License-Identifier: GPL-2.0
#include <linux/atomic.h>
#include <linux/fs.h>
#include <linux/kernel.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/pid.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "../include/emugpu.h"
#include "block.h"
#include "control.h"
#include "copy.h"
#include "gpu.h"
#include "test.h"

static atomic_t clients;

u32 emugpu_control_clients(void)
{
	return atomic_read(&clients);
}

static int cmd_info(struct emugpu_client *client, void *arg)
{
	struct emugpu_info *info = arg;
	struct emugpu_gpu *gpu;

	if (memchr_inv(info->reserved, 0, sizeof(info->reserved)))
		return -EINVAL;
	gpu = emugpu_gpu_get(info->gpu);
	if (!gpu)
		return -ENODEV;
	emugpu_gpu_info(gpu, info);
	emugpu_gpu_put(gpu);
	return 0;
}

static int cmd_alloc(struct emugpu_client *client, void *arg)
{
	struct emugpu_alloc *alloc = arg;
	struct emugpu_gpu *gpu;
	int err;

	if (alloc->reserved)
		return -EINVAL;
	gpu = emugpu_gpu_get(alloc->gpu);
	if (!gpu)
		return -ENODEV;
	err = emugpu_block_alloc(client, gpu, alloc->va, alloc->size);
	emugpu_gpu_put(gpu);
	return err;
}

static int cmd_free(struct emugpu_client *client, void *arg)
{
	struct emugpu_free *req = arg;

	return emugpu_block_free(client, req->va);
}

static int cmd_copy(struct emugpu_client *client, void *arg)
{
	return emugpu_copy(client, arg);
}

static int cmd_test(struct emugpu_client *client, void *arg)
{
	return emugpu_test(client, arg);
}

static const struct control_command {
	unsigned int cmd;
	int (*run)(struct emugpu_client *client, void *arg);
} commands[] = {
	{ EMUGPU_IOC_INFO, cmd_info },
	{ EMUGPU_IOC_ALLOC, cmd_alloc },
	{ EMUGPU_IOC_FREE, cmd_free },
	{ EMUGPU_IOC_COPY, cmd_copy },
	{ EMUGPU_IOC_TEST, cmd_test },
};

static const struct control_command *command_find(unsigned int cmd)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(commands); i++)
		if (commands[i].cmd == cmd)
			return &commands[i];
	return NULL;
}

static long control_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	const struct control_command *command = command_find(cmd);
	struct emugpu_client *client = file->private_data;
	void __user *user = (void __user *)arg;
	union {
		struct emugpu_info info;
		struct emugpu_alloc alloc;
		struct emugpu_free free;
		struct emugpu_copy copy;
		struct emugpu_test test;
	} buf;
	int err;

	if (!command)
		return -ENOTTY;
	if (client->owner != task_tgid(current))
		return -EACCES;
	if (copy_from_user(&buf, user, _IOC_SIZE(cmd)))
		return -EFAULT;
	err = command->run(client, &buf);
	if (!err && (_IOC_DIR(cmd) & _IOC_READ) && copy_to_user(user, &buf, _IOC_SIZE(cmd)))
		return -EFAULT;
	return err;
}

static int control_open(struct inode *inode, struct file *file)
{
	struct emugpu_client *client = kzalloc(sizeof(*client), GFP_KERNEL);

	if (!client)
		return -ENOMEM;
	client->owner = get_pid(task_tgid(current));
	file->private_data = client;
	atomic_inc(&clients);
	return 0;
}

/* May run in another process than the owner, or in a killed one: blocks know their client. */
static int control_release(struct inode *inode, struct file *file)
{
	struct emugpu_client *client = file->private_data;

	emugpu_block_free_all(client);
	put_pid(client->owner);
	kfree(client);
	atomic_dec(&clients);
	return 0;
}

static const struct file_operations control_fops = {
	.owner = THIS_MODULE,
	.open = control_open,
	.release = control_release,
	.unlocked_ioctl = control_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.llseek = noop_llseek,
};

static struct miscdevice control_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "emugpu",
	.fops = &control_fops,
	.mode = 0666,
};

int emugpu_control_register(void)
{
	return misc_register(&control_device);
}

void emugpu_control_unregister(void)
{
	misc_deregister(&control_device);
}
