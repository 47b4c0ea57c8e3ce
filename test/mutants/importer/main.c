// SPDX-License-Identifier: GPL-2.0
/*
 * A correct importer of dma-bufs in the style of a third party, which knows no GPU. `peerpin verify` must
 * find no bug in it, and the bug in each of its mutants.
 */
#include <linux/dma-mapping.h>
#include <linux/err.h>
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/xarray.h>
#include "buffer.h"
#include "chip.h"
#include "importer.h"

/* @process: the process that opened the file; @handles: its buffers, each with a reference */
struct importer_file {
	struct chip *chip;
	struct pid *process;
	struct xarray handles;
};

static unsigned long chip_taken;

static void chip_free(struct kref *ref)
{
	kfree(container_of(ref, struct chip, ref));
}

/* ---- copies ------------------------------------------------------------------ */

static struct buffer *handle_get(struct importer_file *file, u32 handle)
{
	struct buffer *b;

	xa_lock(&file->handles);
	b = xa_load(&file->handles, handle);
	if (b)
		kref_get(&b->ref);
	xa_unlock(&file->handles);
	return b ?: ERR_PTR(-ENOENT);
}

static bool overlap(struct end a, struct end b, u64 length)
{
	return a.buffer->dmabuf == b.buffer->dmabuf && max(a.offset, b.offset) - min(a.offset, b.offset) < length;
}

/* If the exporter moves a buffer after it was mapped, the engine returns -ESTALE: map again. */
static s64 copy_some(struct chip *chip, struct end dst, struct end src, u64 length)
{
	s64 n;
	int ret;

	for (;;) {
		ret = buffer_map(dst.buffer) ?: buffer_map(src.buffer);
		if (ret)
			return ret;
		n = engine_copy(&chip->engine, dst, src, length);
		if (n != -ESTALE)
			return n;
		if (signal_pending(current))
			return -EINTR;
	}
}

static int copy_ends(struct chip *chip, struct end dst, struct end src, u64 length)
{
	s64 n;

	if (!buffer_has(dst.buffer, dst.offset, length) || !buffer_has(src.buffer, src.offset, length))
		return -EINVAL;
	if (overlap(dst, src, length))
		return -EINVAL;
	for (; length; length -= n) {
		n = copy_some(chip, dst, src, length);
		if (n < 0)
			return n;
		dst.offset += n;
		src.offset += n;
	}
	return 0;
}

static long ioctl_copy(struct importer_file *file, void __user *user)
{
	struct importer_copy args;
	struct end dst, src;
	long ret;

	if (copy_from_user(&args, user, sizeof(args)))
		return -EFAULT;
	dst = (struct end){ handle_get(file, args.dst), args.dst_offset };
	if (IS_ERR(dst.buffer))
		return PTR_ERR(dst.buffer);
	src = (struct end){ handle_get(file, args.src), args.src_offset };
	ret = PTR_ERR_OR_ZERO(src.buffer);
	if (!ret) {
		ret = copy_ends(file->chip, dst, src, args.length);
		buffer_put(src.buffer);
	}
	buffer_put(dst.buffer);
	return ret;
}

/* ---- calls ------------------------------------------------------------------- */

/* The handle is not known to the process, so no other thread uses it, until copy_to_user(). */
static long ioctl_import(struct importer_file *file, void __user *user)
{
	struct importer_import args;
	struct buffer *b;
	int ret;

	if (copy_from_user(&args, user, sizeof(args)))
		return -EFAULT;
	b = buffer_import(file->chip, args.fd);
	if (IS_ERR(b))
		return PTR_ERR(b);
	ret = xa_alloc(&file->handles, &args.out_handle, b, xa_limit_31b, GFP_KERNEL);
	if (!ret && copy_to_user(user, &args, sizeof(args))) {
		xa_erase(&file->handles, args.out_handle);
		ret = -EFAULT;
	}
	if (ret)
		buffer_put(b);
	return ret;
}

static long ioctl_release(struct importer_file *file, void __user *user)
{
	struct importer_release args;
	struct buffer *b;

	if (copy_from_user(&args, user, sizeof(args)))
		return -EFAULT;
	if (args.reserved)
		return -EINVAL;
	b = xa_erase(&file->handles, args.handle);
	if (!b)
		return -ENOENT;
	buffer_put(b);
	return 0;
}

static long importer_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	struct importer_file *file = filp->private_data;
	void __user *user = (void __user *)arg;

	if (file->process != task_tgid(current))
		return -EACCES;
	switch (cmd) {
	case IMPORTER_IMPORT:
		return ioctl_import(file, user);
	case IMPORTER_RELEASE:
		return ioctl_release(file, user);
	case IMPORTER_COPY:
		return ioctl_copy(file, user);
	default:
		return -ENOTTY;
	}
}

static int importer_open(struct inode *inode, struct file *filp)
{
	struct chip *chip = container_of(filp->private_data, struct chip, misc);
	struct importer_file *file = kzalloc(sizeof(*file), GFP_KERNEL);

	if (!file)
		return -ENOMEM;
	kref_get(&chip->ref);
	file->chip = chip;
	file->process = get_pid(task_tgid(current));
	xa_init_flags(&file->handles, XA_FLAGS_ALLOC1);
	filp->private_data = file;
	return nonseekable_open(inode, filp);
}

static int importer_close(struct inode *inode, struct file *filp)
{
	struct importer_file *file = filp->private_data;
	unsigned long handle;
	struct buffer *b;

	xa_for_each(&file->handles, handle, b)
		buffer_put(b);
	xa_destroy(&file->handles);
	kref_put(&file->chip->ref, chip_free);
	put_pid(file->process);
	kfree(file);
	return 0;
}

static const struct file_operations importer_fops = {
	.owner = THIS_MODULE,
	.open = importer_open,
	.release = importer_close,
	.unlocked_ioctl = importer_ioctl,
};

/* ---- the chip ---------------------------------------------------------------- */

/* After remove, the PCI core releases the resources of pcim_ and dmam_ calls. */
static int chip_setup(struct chip *chip)
{
	int ret = pcim_enable_device(chip->pdev);

	if (!ret)
		ret = dma_set_mask_and_coherent(&chip->pdev->dev, DMA_BIT_MASK(32));
	if (!ret)
		ret = engine_setup(chip);
	if (ret)
		return ret;
	pci_set_master(chip->pdev);
	pci_set_drvdata(chip->pdev, chip);
	return misc_register(&chip->misc);
}

static int chip_new(struct pci_dev *pdev)
{
	struct chip *chip = kzalloc(sizeof(*chip), GFP_KERNEL);
	int ret;

	if (!chip)
		return -ENOMEM;
	kref_init(&chip->ref);
	mutex_init(&chip->lock);
	INIT_LIST_HEAD(&chip->buffers);
	chip->pdev = pdev;
	chip->misc.minor = MISC_DYNAMIC_MINOR;
	chip->misc.name = "importer0";
	chip->misc.mode = 0666;
	chip->misc.fops = &importer_fops;
	chip->misc.parent = &pdev->dev;
	ret = chip_setup(chip);
	if (ret)
		kref_put(&chip->ref, chip_free);
	return ret;
}

static int chip_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	int ret;

	if (test_and_set_bit(0, &chip_taken))
		return -EBUSY;
	ret = chip_new(pdev);
	if (ret)
		clear_bit(0, &chip_taken);
	return ret;
}

/* Open files keep struct chip and their buffers; their calls see @dead and fail. */
static void chip_remove(struct pci_dev *pdev)
{
	struct chip *chip = pci_get_drvdata(pdev);

	misc_deregister(&chip->misc);
	engine_stop(&chip->engine);
	mutex_lock(&chip->lock);
	chip->dead = true;
	buffers_detach(chip);
	mutex_unlock(&chip->lock);
	pci_clear_master(pdev);
	kref_put(&chip->ref, chip_free);
	clear_bit(0, &chip_taken);
}

static const struct pci_device_id chip_ids[] = {
	{ PCI_DEVICE(PCI_VENDOR_ID_LSI_LOGIC, PCI_DEVICE_ID_LSI_53C895A) },
	{}
};
MODULE_DEVICE_TABLE(pci, chip_ids);

static struct pci_driver importer_driver = {
	.name = "importer",
	.id_table = chip_ids,
	.probe = chip_probe,
	.remove = chip_remove,
};

module_pci_driver(importer_driver);
MODULE_DESCRIPTION("third-party importer of dma-bufs");
MODULE_LICENSE("GPL");
