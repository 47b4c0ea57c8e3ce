// SPDX-License-Identifier: GPL-2.0
/*
 * A correct driver in the style of a third party, with the GPU driver's own functions.
 * `peerpin verify` must find no bug in it, and the bug in each of its mutants.
 */
#include <linux/dma-mapping.h>
#include <linux/err.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include "chip.h"
#include "pin.h"
#include "view.h"

/* @process: the process that opened the file */
struct direct_file {
	struct direct *direct;
	struct pid *process;
};

static unsigned long chip_taken;

void direct_free(struct kref *ref)
{
	kfree(container_of(ref, struct direct, ref));
}

/* ---- copies ------------------------------------------------------------------ */

static bool overlap(struct direct_end a, struct direct_end b, u64 length)
{
	return a.pin == b.pin && max(a.offset, b.offset) - min(a.offset, b.offset) < length;
}

static int copy_ends(struct direct *d, struct direct_end dst, struct direct_end src, u64 length)
{
	if (!direct_pin_has(dst.pin, dst.offset, length) || !direct_pin_has(src.pin, src.offset, length))
		return -EINVAL;
	if (overlap(dst, src, length))
		return -EINVAL;
	return direct_engine_copy(d, dst, src, length);
}

static int copy(struct direct *d, struct file *filp, const struct direct_copy_args *args)
{
	struct direct_end dst = { direct_pin_use(filp, args->dst), args->dst_offset };
	struct direct_end src = { .offset = args->src_offset };
	int ret;

	if (IS_ERR(dst.pin))
		return PTR_ERR(dst.pin);
	src.pin = direct_pin_use(filp, args->src);
	ret = PTR_ERR_OR_ZERO(src.pin);
	if (!ret) {
		ret = copy_ends(d, dst, src, args->length);
		direct_pin_unuse(src.pin);
	}
	direct_pin_unuse(dst.pin);
	return ret;
}

/* ---- calls ------------------------------------------------------------------- */

/* If the handle cannot be copied to the caller, undo the pin. */
static long ioctl_pin(struct direct *d, struct file *filp, void __user *user)
{
	struct direct_pin_args args;
	int ret;

	if (copy_from_user(&args, user, sizeof(args)))
		return -EFAULT;
	ret = direct_pin(d, filp, &args);
	if (ret || !copy_to_user(user, &args, sizeof(args)))
		return ret;
	direct_unpin(d, filp, args.out_handle);
	return -EFAULT;
}

static long ioctl_unpin(struct direct *d, struct file *filp, void __user *user)
{
	struct direct_unpin_args args;

	if (copy_from_user(&args, user, sizeof(args)))
		return -EFAULT;
	return args.reserved ? -EINVAL : direct_unpin(d, filp, args.handle);
}

static long ioctl_copy(struct direct *d, struct file *filp, void __user *user)
{
	struct direct_copy_args args;

	if (copy_from_user(&args, user, sizeof(args)))
		return -EFAULT;
	return copy(d, filp, &args);
}

static bool is_ours(const struct direct_file *file)
{
	return file->process == task_tgid(current);
}

static long direct_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	struct direct_file *file = filp->private_data;
	void __user *user = (void __user *)arg;

	if (!is_ours(file))
		return -EACCES;
	switch (cmd) {
	case DIRECT_PIN:
		return ioctl_pin(file->direct, filp, user);
	case DIRECT_UNPIN:
		return ioctl_unpin(file->direct, filp, user);
	case DIRECT_COPY:
		return ioctl_copy(file->direct, filp, user);
	default:
		return -ENOTTY;
	}
}

static int direct_mmap(struct file *filp, struct vm_area_struct *vma)
{
	return is_ours(filp->private_data) ? direct_view_mmap(filp, vma) : -EACCES;
}

static int direct_open(struct inode *inode, struct file *filp)
{
	struct direct *d = container_of(filp->private_data, struct direct, misc);
	struct direct_file *file = kzalloc(sizeof(*file), GFP_KERNEL);

	if (!file)
		return -ENOMEM;
	kref_get(&d->ref);
	file->direct = d;
	file->process = get_pid(task_tgid(current));
	filp->private_data = file;
	return nonseekable_open(inode, filp);
}

static int direct_release(struct inode *inode, struct file *filp)
{
	struct direct_file *file = filp->private_data;

	direct_unpin_all(file->direct, filp);
	kref_put(&file->direct->ref, direct_free);
	put_pid(file->process);
	kfree(file);
	return 0;
}

static const struct file_operations direct_fops = {
	.owner = THIS_MODULE,
	.open = direct_open,
	.release = direct_release,
	.unlocked_ioctl = direct_ioctl,
	.mmap = direct_mmap,
};

/* ---- the chip ---------------------------------------------------------------- */

/* After remove, the PCI core releases the resources of pcim_ and dmam_ calls. */
static int direct_setup(struct direct *d)
{
	int ret = pcim_enable_device(d->pdev);

	if (!ret)
		ret = dma_set_mask_and_coherent(&d->pdev->dev, DMA_BIT_MASK(32));
	if (!ret)
		ret = direct_engine_setup(d);
	if (ret)
		return ret;
	pci_set_master(d->pdev);
	pci_set_drvdata(d->pdev, d);
	return misc_register(&d->misc);
}

static int direct_probe_only(struct pci_dev *pdev)
{
	struct direct *d = kzalloc(sizeof(*d), GFP_KERNEL);
	int ret;

	if (!d)
		return -ENOMEM;
	kref_init(&d->ref);
	mutex_init(&d->pinning);
	d->pdev = pdev;
	d->misc.minor = MISC_DYNAMIC_MINOR;
	d->misc.name = "direct0";
	d->misc.mode = 0666;
	d->misc.fops = &direct_fops;
	d->misc.parent = &pdev->dev;
	ret = direct_setup(d);
	if (ret)
		kref_put(&d->ref, direct_free);
	return ret;
}

static int direct_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	int ret;

	if (test_and_set_bit(0, &chip_taken))
		return -EBUSY;
	ret = direct_probe_only(pdev);
	if (ret)
		clear_bit(0, &chip_taken);
	return ret;
}

/* Open files keep struct direct and their pins; their calls see @dead and fail. */
static void direct_remove(struct pci_dev *pdev)
{
	struct direct *d = pci_get_drvdata(pdev);

	misc_deregister(&d->misc);
	mutex_lock(&d->pinning);
	mutex_lock(&d->engine.lock);
	d->dead = true;
	mutex_unlock(&d->engine.lock);
	direct_unmap_all(d);
	mutex_unlock(&d->pinning);
	pci_clear_master(pdev);
	kref_put(&d->ref, direct_free);
	clear_bit(0, &chip_taken);
}

static const struct pci_device_id direct_ids[] = {
	{ PCI_DEVICE(PCI_VENDOR_ID_LSI_LOGIC, PCI_DEVICE_ID_LSI_53C895A) },
	{}
};
MODULE_DEVICE_TABLE(pci, direct_ids);

static struct pci_driver direct_driver = {
	.name = "direct",
	.id_table = direct_ids,
	.probe = direct_probe,
	.remove = direct_remove,
};

module_pci_driver(direct_driver);
MODULE_DESCRIPTION("third-party driver that calls nvidia_p2p itself");
MODULE_LICENSE("GPL");
