// SPDX-License-Identifier: GPL-2.0
/*
 * The engine executes a script of one Memory Move and an INT, as that of the 53C895A (kmod/sample).
 * QEMU executes it inside the write that starts it.
 */
#include <linux/dma-mapping.h>
#include <linux/iommu.h>
#include <linux/iopoll.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <rdma/ib_verbs.h>
#include "function.h"

enum {
	LSI_BAR = 1,
	LSI_DSTAT = 0x0c,
	LSI_DSTAT_ERRORS = 0x71,
	LSI_ISTAT0 = 0x14,
	LSI_ISTAT0_DIP = 0x01,
	LSI_ISTAT0_SRST = 0x40,
	LSI_DSP = 0x2c,
	LSI_MOVE = 0xc0000000,
	LSI_INT = 0x98080000,
	SCRIPT_WORDS = 5,
	TIMEOUT_US = 100000,
	RETRY_MS = 20,
};

/* What the engine reads and writes beside registered memory */
struct shared {
	u8 buffer[RDMA_COPY_MAX];
	__le32 script[SCRIPT_WORDS];
};

/**
 * struct rdma_function - a function that this module drives
 * @in_functions: entry in functions; under functions_lock
 * @adapter: NULL: free; changes under functions_lock
 * @lock: serialises the engine; held while memory is used, and to end its use
 * @removed: the PCI function is going away; under @lock
 */
struct rdma_function {
	struct list_head in_functions;
	struct ib_device *adapter;
	struct pci_dev *pdev;
	void __iomem *regs;
	struct shared *shared;
	dma_addr_t shared_bus;
	spinlock_t lock;
	bool removed;
};

static DEFINE_MUTEX(functions_lock);
static LIST_HEAD(functions);
static DECLARE_WAIT_QUEUE_HEAD(function_is_free);

/* ---- the engine ----------------------------------------------------------------- */

void rdma_function_lock(struct rdma_function *f) __acquires(&f->lock)
{
	spin_lock_bh(&f->lock);
}

void rdma_function_unlock(struct rdma_function *f) __releases(&f->lock)
{
	spin_unlock_bh(&f->lock);
}

static void function_reset(struct rdma_function *f)
{
	writeb(LSI_ISTAT0_SRST, f->regs + LSI_ISTAT0);
	writeb(0, f->regs + LSI_ISTAT0);
	readb(f->regs + LSI_DSTAT);
}

/* A register of an unplugged function reads as all ones: the script has not run. */
static int function_run(struct rdma_function *f)
{
	u8 istat;

	writel(f->shared_bus + offsetof(struct shared, script), f->regs + LSI_DSP);
	if (readb_poll_timeout_atomic(f->regs + LSI_ISTAT0, istat, istat & LSI_ISTAT0_DIP, 1, TIMEOUT_US)) {
		dev_err_ratelimited(&f->pdev->dev, "engine does not answer; resetting it\n");
		function_reset(f);
		return -EIO;
	}
	if (istat == 0xff)
		return -ENODEV;
	return readb(f->regs + LSI_DSTAT) & LSI_DSTAT_ERRORS ? -EIO : 0;
}

static int function_move(struct rdma_function *f, dma_addr_t to, dma_addr_t from, u32 length)
{
	lockdep_assert_held(&f->lock);
	if (f->removed)
		return -ENODEV;
	f->shared->script[0] = cpu_to_le32(LSI_MOVE | length);
	f->shared->script[1] = cpu_to_le32(from);
	f->shared->script[2] = cpu_to_le32(to);
	f->shared->script[3] = cpu_to_le32(LSI_INT);
	f->shared->script[4] = 0;
	return function_run(f);
}

int rdma_function_read(struct rdma_function *f, void *buffer, dma_addr_t bus, u32 length)
{
	int ret = function_move(f, f->shared_bus, bus, length);

	if (!ret)
		memcpy(buffer, f->shared->buffer, length);
	return ret;
}

int rdma_function_write(struct rdma_function *f, dma_addr_t bus, const void *buffer, u32 length)
{
	memcpy(f->shared->buffer, buffer, length);
	return function_move(f, bus, f->shared_bus, length);
}

/* ---- adapters ------------------------------------------------------------------- */

struct device *rdma_function_device(struct rdma_function *f)
{
	return &f->pdev->dev;
}

/* Without translation, the bus address of memory is its physical address. */
static bool function_is_direct(const struct rdma_function *f)
{
	struct iommu_domain *domain = iommu_get_domain_for_dev(&f->pdev->dev);

	return !domain || domain->type == IOMMU_DOMAIN_IDENTITY;
}

bool rdma_function_reaches(const struct rdma_function *f, struct sg_table *sgt)
{
	struct scatterlist *sg;
	unsigned int i;

	if (!function_is_direct(f))
		return true;
	for_each_sgtable_sg(sgt, sg, i) {
		if (sg_phys(sg) + sg->length - 1 <= dma_get_mask(&f->pdev->dev))
			continue;
		dev_info_ratelimited(&f->pdev->dev, "memory above 4 GiB is out of reach; boot the VM with --iommu or less memory\n");
		return false;
	}
	return true;
}

/* Behind an IOMMU whole pages are not bounced, but dma_need_sync() of Linux 6.1 may return true. */
bool rdma_function_bounces(const struct rdma_function *f, struct sg_table *sgt)
{
	struct scatterlist *sg;
	unsigned int i;

	if (!function_is_direct(f))
		return false;
	for_each_sgtable_dma_sg(sgt, sg, i)
		if (dma_need_sync(&f->pdev->dev, sg_dma_address(sg)))
			return true;
	return false;
}

bool rdma_function_addresses(const struct rdma_function *f, dma_addr_t bus, u64 length)
{
	u64 mask = dma_get_mask(&f->pdev->dev);

	return bus <= mask && length <= mask - bus + 1;
}

struct rdma_function *rdma_function_claim(struct ib_device *adapter)
{
	struct rdma_function *f;

	mutex_lock(&functions_lock);
	list_for_each_entry(f, &functions, in_functions) {
		if (f->adapter)
			continue;
		f->adapter = adapter;
		adapter->dev.parent = &f->pdev->dev;
		goto out;
	}
	f = NULL;
out:
	mutex_unlock(&functions_lock);
	return f;
}

/* Without an adapter, function_remove() does not wait: @f ends. */
void rdma_function_release(struct rdma_function *f)
{
	if (!f)
		return;
	mutex_lock(&functions_lock);
	WRITE_ONCE(f->adapter, NULL);
	mutex_unlock(&functions_lock);
	wake_up_all(&function_is_free);
}

/* Only an adapter with a function has a parent. */
struct rdma_function *rdma_function_of(struct ib_device *adapter)
{
	return adapter->dev.parent ? dev_get_drvdata(adapter->dev.parent) : NULL;
}

static void function_tell(struct ib_device *adapter)
{
	struct ib_event event = { .device = adapter, .event = IB_EVENT_DEVICE_FATAL };

	ib_dispatch_event(&event);
}

/* A reference of the adapter; NULL if the adapter is not yet, or no longer, registered */
static struct ib_device *function_get_adapter(struct rdma_function *f)
{
	struct ib_device *adapter;

	mutex_lock(&functions_lock);
	adapter = f->adapter && ib_device_try_get(f->adapter) ? f->adapter : NULL;
	mutex_unlock(&functions_lock);
	return adapter;
}

/* Afterwards no adapter can claim the function. */
static void function_withdraw(struct rdma_function *f)
{
	mutex_lock(&functions_lock);
	list_del(&f->in_functions);
	mutex_unlock(&functions_lock);
}

static bool function_wait_free(struct rdma_function *f)
{
	return wait_event_timeout(function_is_free, !READ_ONCE(f->adapter), msecs_to_jiffies(RETRY_MS));
}

/*
 * Waits until all programs have closed the adapter, as Soft-RoCE does. Without a reference, another
 * thread is registering the adapter, or is ending it. Try again: a registration may succeed.
 */
static void function_end_adapter(struct rdma_function *f)
{
	struct ib_device *adapter;

	do {
		adapter = function_get_adapter(f);
		if (adapter) {
			function_tell(adapter);
			ib_unregister_device_and_put(adapter);
		}
	} while (!function_wait_free(f));
}

/* ---- the PCI driver --------------------------------------------------------------- */

static int function_start(struct rdma_function *f)
{
	struct pci_dev *pdev = f->pdev;
	int ret = dma_set_mask_and_coherent(&pdev->dev, DMA_BIT_MASK(32));

	if (!ret)
		ret = pcim_enable_device(pdev);
	if (!ret)
		ret = pcim_iomap_regions(pdev, BIT(LSI_BAR), KBUILD_MODNAME);
	if (ret)
		return ret;
	f->regs = pcim_iomap_table(pdev)[LSI_BAR];
	f->shared = dmam_alloc_coherent(&pdev->dev, sizeof(*f->shared), &f->shared_bus, GFP_KERNEL);
	if (!f->shared)
		return -ENOMEM;
	dma_set_max_seg_size(&pdev->dev, UINT_MAX);	/* a copy takes at most RDMA_COPY_MAX bytes of a segment */
	pci_set_master(pdev);
	function_reset(f);
	return 0;
}

static int function_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct rdma_function *f = devm_kzalloc(&pdev->dev, sizeof(*f), GFP_KERNEL);
	int ret;

	if (!f)
		return -ENOMEM;
	f->pdev = pdev;
	spin_lock_init(&f->lock);
	ret = function_start(f);
	if (ret)
		return ret;
	pci_set_drvdata(pdev, f);
	mutex_lock(&functions_lock);
	list_add_tail(&f->in_functions, &functions);
	mutex_unlock(&functions_lock);
	return 0;
}

static void function_remove(struct pci_dev *pdev)
{
	struct rdma_function *f = pci_get_drvdata(pdev);

	rdma_function_lock(f);
	f->removed = true;
	rdma_function_unlock(f);
	function_withdraw(f);
	function_end_adapter(f);
	pci_clear_master(pdev);
}

static const struct pci_device_id function_ids[] = {
	{ PCI_DEVICE(PCI_VENDOR_ID_LSI_LOGIC, PCI_DEVICE_ID_NCR_53C810) },
	{ }
};
MODULE_DEVICE_TABLE(pci, function_ids);

static struct pci_driver function_driver = {
	.name = KBUILD_MODNAME,
	.id_table = function_ids,
	.probe = function_probe,
	.remove = function_remove,
};

int rdma_functions_init(void)
{
	return pci_register_driver(&function_driver);
}

void rdma_functions_exit(void)
{
	pci_unregister_driver(&function_driver);
}
