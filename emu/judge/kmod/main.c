// SPDX-License-Identifier: GPL-2.0
/*
 * judge.ko watches the allocations of one module, the subject. Files in
 * /sys/kernel/debug/judge:
 *	module	name of the subject; write it before loading the subject
 *	began	Y: the subject was loaded since its name was written, even if its init
 *		function failed
 *	fail	write n: the n-th allocation from now on fails; read: the counts
 *	leaks	memory not freed yet; read this file after the subject was removed. Lines
 *		that begin with # report missed allocations
 *	misuse	peerpin_attach() calls with an unregistered peer
 *	stops	stop() functions of the subject that took long
 *	reset	write: forget all watched allocations
 * judge.ko serves kernels without fault injection and leak detection, such as
 * distribution kernels.
 */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "call.h"
#include "liberator.h"
#include "misuse.h"
#include "object.h"
#include "stop.h"
#include "subject.h"

#ifndef CONFIG_X86_64
#error "judge.ko needs x86-64: it reads arguments and return addresses from registers and stack"
#endif

static struct dentry *debugfs;

static int module_show(struct seq_file *seq, void *unused)
{
	char name[MODULE_NAME_LEN];

	judge_subject_name(name);
	seq_printf(seq, "%s\n", name);
	return 0;
}

static int module_open(struct inode *inode, struct file *file)
{
	return single_open(file, module_show, NULL);
}

static ssize_t module_write(struct file *file, const char __user *from, size_t size, loff_t *offset)
{
	char name[MODULE_NAME_LEN] = "";
	int err;

	if (size >= sizeof(name))
		return -EINVAL;
	if (copy_from_user(name, from, size))
		return -EFAULT;
	err = judge_subject_set(strim(name));
	return err ?: size;
}

static const struct file_operations module_fops = {
	.owner = THIS_MODULE,
	.open = module_open,
	.read = seq_read,
	.write = module_write,
	.llseek = seq_lseek,
	.release = single_release,
};

static int fail_show(struct seq_file *seq, void *unused)
{
	judge_calls_show(seq);
	return 0;
}

static int fail_open(struct inode *inode, struct file *file)
{
	return single_open(file, fail_show, NULL);
}

static ssize_t fail_write(struct file *file, const char __user *from, size_t size, loff_t *offset)
{
	unsigned int nth;
	int err = kstrtouint_from_user(from, size, 0, &nth);

	if (err)
		return err;
	judge_calls_fail(nth);
	return size;
}

static const struct file_operations fail_fops = {
	.owner = THIS_MODULE,
	.open = fail_open,
	.read = seq_read,
	.write = fail_write,
	.llseek = seq_lseek,
	.release = single_release,
};

static int leaks_show(struct seq_file *seq, void *unused)
{
	judge_objects_show(seq);
	judge_calls_show_unseen(seq);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(leaks);

static int misuse_show(struct seq_file *seq, void *unused)
{
	judge_misuse_show(seq);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(misuse);

static int stops_show(struct seq_file *seq, void *unused)
{
	judge_stop_show(seq);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(stops);

static ssize_t reset_write(struct file *file, const char __user *from, size_t size, loff_t *offset)
{
	judge_objects_reset();
	judge_calls_reset();
	judge_misuse_reset();
	judge_stop_reset();
	return size;
}

static const struct file_operations reset_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = reset_write,
};

static int __init judge_init(void)
{
	int err = judge_subject_init();

	if (err)
		return err;
	err = judge_liberators_init();
	if (err)
		goto err_subject;
	err = judge_calls_init();
	if (err)
		goto err_liberators;
	err = judge_misuse_init();
	if (err)
		goto err_calls;
	err = judge_stop_init();
	if (err)
		goto err_misuse;
	debugfs = debugfs_create_dir(KBUILD_MODNAME, NULL);
	debugfs_create_file("module", 0600, debugfs, NULL, &module_fops);
	debugfs_create_bool("began", 0400, debugfs, &judge_subject_began);
	debugfs_create_file("fail", 0600, debugfs, NULL, &fail_fops);
	debugfs_create_file("leaks", 0400, debugfs, NULL, &leaks_fops);
	debugfs_create_file("misuse", 0400, debugfs, NULL, &misuse_fops);
	debugfs_create_file("stops", 0400, debugfs, NULL, &stops_fops);
	debugfs_create_file("reset", 0200, debugfs, NULL, &reset_fops);
	return 0;

err_misuse:
	judge_misuse_exit();
err_calls:
	judge_calls_exit();
err_liberators:
	judge_liberators_exit();
err_subject:
	judge_subject_exit();
	return err;
}

static void __exit judge_exit(void)
{
	debugfs_remove(debugfs);
	judge_stop_exit();
	judge_misuse_exit();
	judge_calls_exit();
	judge_liberators_exit();
	judge_subject_exit();
}

module_init(judge_init);
module_exit(judge_exit);
MODULE_DESCRIPTION("peerpin judge: fails and watches the allocations of one module");
MODULE_LICENSE("GPL");
