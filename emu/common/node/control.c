// SPDX-License-Identifier: GPL-2.0
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/kernel.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "emugpu.h"
#include "block.h"
#include "client.h"
#include "context.h"
#include "control.h"
#include "copy.h"
#include "export.h"
#include "gpu.h"
#include "host.h"
#include "memory.h"
#include "rsync.h"
#include "test.h"

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

static struct emugpu_memory *memory_by_id(struct emugpu_client *client, u32 id)
{
	struct emugpu_object *object = emugpu_client_get(client, id);
	struct emugpu_memory *memory;

	if (!object)
		return ERR_PTR(-ENOENT);
	memory = emugpu_memory_of(object);
	if (memory)
		return memory;
	emugpu_object_put(object);
	return ERR_PTR(-ENOENT);
}

static struct emugpu_memory *memory_by_gpu(const struct emugpu_client *client, u32 number, u64 size, u32 flags)
{
	struct emugpu_gpu *gpu = emugpu_gpu_get(number);
	struct emugpu_memory *memory;

	if (!gpu)
		return ERR_PTR(-ENODEV);
	memory = emugpu_memory_new(gpu, client->number, size, flags & EMUGPU_ALLOC_WRITE_COMBINED);
	emugpu_gpu_put(gpu);
	return memory;
}

/* The context with number @id; NULL for number 0 */
static struct emugpu_context *context_by_id(struct emugpu_client *client, u32 id)
{
	struct emugpu_object *object;
	struct emugpu_context *context;

	if (!id)
		return NULL;
	object = emugpu_client_get(client, id);
	if (!object)
		return ERR_PTR(-ENOENT);
	context = emugpu_context_of(object);
	if (context)
		return context;
	emugpu_object_put(object);
	return ERR_PTR(-ENOENT);
}

static int check_alloc_flags(const struct emugpu_alloc *alloc)
{
	const u32 host = EMUGPU_ALLOC_HOST | EMUGPU_ALLOC_WRITE_COMBINED;

	if (alloc->flags & ~(EMUGPU_ALLOC_NO_P2P | host))
		return -EINVAL;
	if ((alloc->flags & host) == EMUGPU_ALLOC_WRITE_COMBINED)
		return -EINVAL;
	if (alloc->memory ? alloc->flags & EMUGPU_ALLOC_WRITE_COMBINED : alloc->offset)
		return -EINVAL;
	return alloc->flags & host && !EMUGPU_INTEGRATED ? -EOPNOTSUPP : 0;
}

static int cmd_alloc(struct emugpu_client *client, void *arg)
{
	struct emugpu_alloc *alloc = arg;
	struct emugpu_memory *memory;
	struct emugpu_context *context;
	int err = check_alloc_flags(alloc);

	if (err)
		return err;
	memory = alloc->memory ? memory_by_id(client, alloc->memory) :
				 memory_by_gpu(client, alloc->gpu, alloc->size, alloc->flags);
	if (IS_ERR(memory))
		return PTR_ERR(memory);
	context = context_by_id(client, alloc->context);
	if (IS_ERR(context)) {
		err = PTR_ERR(context);
		goto put_memory;
	}
	err = emugpu_block_alloc(client, memory, context, alloc);
	emugpu_context_put(context);
put_memory:
	emugpu_memory_put(memory);
	return err;
}

static int cmd_memory(struct emugpu_client *client, void *arg)
{
	struct emugpu_memory_new *req = arg;
	struct emugpu_memory *memory = memory_by_gpu(client, req->gpu, req->size, 0);
	int err;

	if (IS_ERR(memory))
		return PTR_ERR(memory);
	err = emugpu_client_add(client, &memory->object, &req->out_memory);
	if (err)
		emugpu_memory_put(memory);
	return err;
}

static int cmd_context(struct emugpu_client *client, void *arg)
{
	struct emugpu_context_new *req = arg;
	struct emugpu_gpu *gpu;
	struct emugpu_context *context;
	int err;

	if (req->reserved)
		return -EINVAL;
	gpu = emugpu_gpu_get(req->gpu);
	if (!gpu)
		return -ENODEV;
	emugpu_gpu_put(gpu);
	context = emugpu_context_new();
	if (!context)
		return -ENOMEM;
	req->out_p2p_token = context->p2p_token;
	req->out_va_space = context->va_space;
	err = emugpu_client_add(client, &context->object, &req->out_context);
	if (err)
		emugpu_context_put(context);
	return err;
}

static int cmd_drop(struct emugpu_client *client, void *arg)
{
	struct emugpu_drop *drop = arg;

	return drop->reserved ? -EINVAL : emugpu_client_drop(client, drop->id);
}

/* If copy_to_user() has failed, the process does not know the number: drop the object. */
static void memory_told(struct emugpu_client *client, void *arg, bool told)
{
	struct emugpu_memory_new *req = arg;

	if (!told)
		emugpu_client_drop(client, req->out_memory);
}

static void context_told(struct emugpu_client *client, void *arg, bool told)
{
	struct emugpu_context_new *req = arg;

	if (!told)
		emugpu_client_drop(client, req->out_context);
}

struct control_export {
	struct emugpu_export arg;
	struct dma_buf *dmabuf;		/* the new dma-buf; its file descriptor is not installed yet */
};

static int cmd_export(struct emugpu_client *client, void *arg)
{
	struct control_export *export = arg;

	export->dmabuf = emugpu_export(&export->arg);
	return PTR_ERR_OR_ZERO(export->dmabuf);
}

static void export_told(struct emugpu_client *client, void *arg, bool told)
{
	struct control_export *export = arg;

	emugpu_export_finish(&export->arg, export->dmabuf, told);
}

static int cmd_free(struct emugpu_client *client, void *arg)
{
	struct emugpu_free *req = arg;

	return emugpu_block_free(req->va);
}

static int cmd_copy(struct emugpu_client *client, void *arg)
{
	return emugpu_copy(arg);
}

static int cmd_test(struct emugpu_client *client, void *arg)
{
	return emugpu_test(client, arg);
}

/*
 * @run: executes the command; @arg is input and output
 * @told: called after @run succeeded, with the success of copy_to_user(); may be NULL
 */
static const struct control_command {
	unsigned int cmd;
	int (*run)(struct emugpu_client *client, void *arg);
	void (*told)(struct emugpu_client *client, void *arg, bool told);
} commands[] = {
	{ EMUGPU_IOC_INFO, cmd_info },
	{ EMUGPU_IOC_ALLOC, cmd_alloc },
	{ EMUGPU_IOC_FREE, cmd_free },
	{ EMUGPU_IOC_COPY, cmd_copy },
	{ EMUGPU_IOC_TEST, cmd_test },
	{ EMUGPU_IOC_MEMORY, cmd_memory, memory_told },
	{ EMUGPU_IOC_CONTEXT, cmd_context, context_told },
	{ EMUGPU_IOC_DROP, cmd_drop },
	{ EMUGPU_IOC_EXPORT, cmd_export, export_told },
};

static const struct control_command *command_find(unsigned int cmd)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(commands); i++)
		if (commands[i].cmd == cmd)
			return &commands[i];
	return NULL;
}

static int control_run(struct emugpu_client *client, const struct control_command *command, void *arg,
		       void __user *user)
{
	int err = command->run(client, arg);

	if (err)
		return err;
	if ((_IOC_DIR(command->cmd) & _IOC_READ) && copy_to_user(user, arg, _IOC_SIZE(command->cmd)))
		err = -EFAULT;
	if (command->told)
		command->told(client, arg, !err);
	return err;
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
		struct emugpu_memory_new memory;
		struct emugpu_context_new context;
		struct emugpu_drop drop;
		struct control_export export;
	} buf;

	if (!command)
		return -ENOTTY;
	if (!emugpu_client_is_mine(client))
		return -EACCES;
	if (copy_from_user(&buf, user, _IOC_SIZE(cmd)))
		return -EFAULT;
	return control_run(client, command, &buf, user);
}

static int control_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct emugpu_client *client = file->private_data;

	return emugpu_client_is_mine(client) ? emugpu_host_mmap(vma) : -EACCES;
}

static int control_open(struct inode *inode, struct file *file)
{
	struct emugpu_client *client;
	int err = emugpu_rsync_use();

	if (err)
		return err;
	client = emugpu_client_new();
	if (!client) {
		emugpu_rsync_unuse();
		return -ENOMEM;
	}
	file->private_data = client;
	return 0;
}

static int control_release(struct inode *inode, struct file *file)
{
	emugpu_client_delete(file->private_data);
	emugpu_rsync_unuse();
	return 0;
}

static const struct file_operations control_fops = {
	.owner = THIS_MODULE,
	.open = control_open,
	.release = control_release,
	.unlocked_ioctl = control_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.mmap = control_mmap,
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
