// SPDX-License-Identifier: GPL-2.0
#include <linux/iopoll.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>

#include "api.h"
#include "block.h"
#include "export.h"
#include "driver.h"
#include "gpu.h"
#include "p2pmem.h"
#include "view.h"
#include "window.h"

enum { LENT_US = 2000000 };

static bool coherent;
module_param(coherent, bool, 0444);
MODULE_PARM_DESC(coherent, "GPU memory is coherent with the CPU, as on Grace: pins and dma-bufs use BAR1 on request only (default 0)");

bool emugpu_gpu_is_coherent(void)
{
	return coherent;
}

/*
 * A GPU keeps its number until it is removed. A number without a GPU gives -ENODEV. A GPU that
 * returns at its old PCI address gets its old number again, if that number is free: running
 * processes may still use the number.
 */
static DEFINE_SPINLOCK(slots_lock);
static struct emugpu_gpu *slots[EMUGPU_GPUS_MAX];
static u32 addresses[EMUGPU_GPUS_MAX];	/* by number: PCI address of the present or last GPU; 0: never used */
static LIST_HEAD(all_gone);

struct emugpu_gpu *emugpu_gpu_get(u32 index)
{
	struct emugpu_gpu *gpu = NULL;

	spin_lock(&slots_lock);
	if (index < EMUGPU_GPUS_MAX)
		gpu = slots[index];
	if (gpu)
		kref_get(&gpu->refs);
	spin_unlock(&slots_lock);
	return gpu;
}

/* Never 0: address 0 is the host bridge. */
static u32 gpu_address(struct pci_dev *pdev)
{
	return pci_domain_nr(pdev->bus) << 16 | pci_dev_id(pdev);
}

/* Order of preference: the old number of this address, a number never used, the number of a removed GPU. */
static int free_slot(u32 address)
{
	int i, unused = -ENOSPC, left = -ENOSPC;

	lockdep_assert_held(&slots_lock);
	for (i = EMUGPU_GPUS_MAX - 1; i >= 0; i--) {
		if (slots[i])
			continue;
		if (addresses[i] == address)
			return i;
		if (addresses[i])
			left = i;
		else
			unused = i;
	}
	return unused < 0 ? left : unused;
}

static int publish(struct emugpu_gpu *gpu)
{
	u32 address = gpu_address(gpu->pdev);
	int i;

	spin_lock(&slots_lock);
	i = free_slot(address);
	if (i >= 0) {
		slots[i] = gpu;
		addresses[i] = address;
	}
	spin_unlock(&slots_lock);
	return i;
}

static void withdraw(struct emugpu_gpu *gpu)
{
	int i;

	spin_lock(&slots_lock);
	for (i = 0; i < EMUGPU_GPUS_MAX; i++)
		if (slots[i] == gpu)
			slots[i] = NULL;
	list_add(&gpu->node, &all_gone);
	spin_unlock(&slots_lock);
}

static bool overlap(const struct emugpu_gpu *gpu, phys_addr_t bar, u64 size)
{
	return gpu->bar < bar + size && bar < gpu->bar + gpu->size;
}

/* Bytes of BAR1 that pins and mappings of removed GPUs in this BAR range still use. Never grows. */
static u64 still_lent(phys_addr_t bar, u64 size)
{
	const struct emugpu_gpu *gpu;
	u64 bytes = 0;

	spin_lock(&slots_lock);
	list_for_each_entry(gpu, &all_gone, node)
		if (overlap(gpu, bar, size))
			bytes += emugpu_bar1_used(&gpu->bar1);
	spin_unlock(&slots_lock);
	return bytes;
}

/* The UUID is derived from the PCI address: the same at each boot, different for each GPU. */
static void make_uuid(u8 *uuid, struct pci_dev *pdev)
{
	u32 address = gpu_address(pdev);

	memcpy(uuid, "emulated gpu", 12);
	memcpy(uuid + 12, &address, sizeof(address));
}

static void gpu_release(struct kref *refs)
{
	struct emugpu_gpu *gpu = container_of(refs, struct emugpu_gpu, refs);

	spin_lock(&slots_lock);
	list_del(&gpu->node);
	spin_unlock(&slots_lock);
	emugpu_bar1_destroy(&gpu->bar1);
	emugpu_vram_destroy(&gpu->vram);
	pci_dev_put(gpu->pdev);
	kfree(gpu);
}

void emugpu_gpu_put(struct emugpu_gpu *gpu)
{
	kref_put(&gpu->refs, gpu_release);
}

static struct emugpu_gpu *gpu_new(struct pci_dev *pdev)
{
	struct emugpu_gpu *gpu = kzalloc(sizeof(*gpu), GFP_KERNEL);
	u32 npages;

	if (!gpu)
		return NULL;
	kref_init(&gpu->refs);
	INIT_LIST_HEAD(&gpu->node);
	gpu->bar = pci_resource_start(pdev, EMUGPU_BAR);
	gpu->size = pci_resource_len(pdev, EMUGPU_BAR);
	npages = gpu->size / EMUGPU_PAGE_SIZE;
	make_uuid(gpu->uuid, pdev);
	if (emugpu_vram_init(&gpu->vram, npages))
		goto err_gpu;
	if (emugpu_bar1_init(&gpu->bar1, npages))
		goto err_vram;
	gpu->pdev = pci_dev_get(pdev);
	return gpu;

err_vram:
	emugpu_vram_destroy(&gpu->vram);
err_gpu:
	kfree(gpu);
	return NULL;
}

static int claim_bar(struct pci_dev *pdev)
{
	int err = pci_enable_device_mem(pdev);

	if (err)
		return err;
	if (pci_resource_len(pdev, EMUGPU_BAR) < EMUGPU_BLOCK_SIZE) {
		pci_err(pdev, "BAR%d is below 2 MiB: not ivshmem-plain with a memory backend of that size\n", EMUGPU_BAR);
		err = -ENODEV;
		goto err_disable;
	}
	err = pci_request_region(pdev, EMUGPU_BAR, KBUILD_MODNAME);
	if (err)
		goto err_disable;
	return 0;

err_disable:
	pci_disable_device(pdev);
	return err;
}

static void unclaim_bar(struct pci_dev *pdev)
{
	pci_release_region(pdev, EMUGPU_BAR);
	pci_disable_device(pdev);
}

static u64 lent_before(struct pci_dev *pdev)
{
	return still_lent(pci_resource_start(pdev, EMUGPU_BAR), pci_resource_len(pdev, EMUGPU_BAR));
}

/*
 * Refuses to bind while peer devices may still do DMA to the memory of a removed GPU: that DMA
 * would write to pages of new owners. Waits up to 2 s for the last pins and mappings to end.
 */
static int check_free(struct pci_dev *pdev)
{
	u64 lent;

	if (!readx_poll_timeout(lent_before, pdev, lent, !lent, 10000, LENT_US))
		return 0;
	pci_err(pdev, "%llu KiB are still pinned or mapped since before the unbind; end these users, then bind again\n",
		lent >> 10);
	return -EBUSY;
}

static int gpu_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct emugpu_gpu *gpu;
	int err;

	err = claim_bar(pdev);
	if (err)
		return err;
	err = check_free(pdev);
	if (err)
		goto err_bar;
	err = -ENOMEM;
	gpu = gpu_new(pdev);
	if (!gpu)
		goto err_bar;
	gpu->vram.cpu = emugpu_p2pmem_open(pdev, gpu->size);
	err = emugpu_window_open(gpu);
	if (err)
		goto err_p2pmem;
	pci_set_drvdata(pdev, gpu);
	err = publish(gpu);
	if (err < 0)
		goto err_window;
	pci_info(pdev, "GPU %d: %llu MiB\n", err, gpu->size >> 20);
	return 0;

err_window:
	emugpu_window_close(gpu);
err_p2pmem:
	emugpu_p2pmem_close(pdev, gpu->size, gpu->vram.cpu);
	emugpu_gpu_put(gpu);
err_bar:
	unclaim_bar(pdev);
	return err;
}

/*
 * Blocks, persistent pins and dma-bufs may outlive the device. Revocable pins and CPU mappings must
 * not.
 *	1. After withdraw() and @gone, no call allocates, pins or maps on the GPU.
 *	2. The free callbacks of the revocable pins run, and dynamic dma-bufs are revoked.
 *	3. CPU mappings are removed, and running direct I/O ends.
 *	4. Closing the window waits for running copies. Later copies see @gone.
 */
static void gpu_remove(struct pci_dev *pdev)
{
	struct emugpu_gpu *gpu = pci_get_drvdata(pdev);
	struct page *cpu = gpu->vram.cpu;
	LIST_HEAD(ended);

	withdraw(gpu);
	emugpu_api_lock();
	WRITE_ONCE(gpu->gone, true);
	emugpu_block_revoke_gpu(gpu, &ended);
	emugpu_api_unlock();
	emugpu_export_notify(&ended);
	emugpu_views_end_gpu(gpu);
	emugpu_p2pmem_await_home(pdev, gpu->size, cpu);
	emugpu_vram_forget_cpu(&gpu->vram);
	emugpu_p2pmem_close(pdev, gpu->size, cpu);
	emugpu_window_close(gpu);
	unclaim_bar(pdev);
	emugpu_gpu_put(gpu);
}

static const struct pci_device_id gpu_ids[] = {
	{ PCI_DEVICE(PCI_VENDOR_ID_REDHAT_QUMRANET, 0x1110) },	/* ivshmem */
	{ }
};
MODULE_DEVICE_TABLE(pci, gpu_ids);

static struct pci_driver gpu_driver = {
	.name = KBUILD_MODNAME,
	.id_table = gpu_ids,
	.probe = gpu_probe,
	.remove = gpu_remove,
};

int emugpu_gpu_register(void)
{
	int err = pci_register_driver(&gpu_driver);

	if (!err)
		emugpu_driver_show();
	return err;
}

void emugpu_gpu_unregister(void)
{
	pci_unregister_driver(&gpu_driver);
	emugpu_driver_hide();
}

void emugpu_gpu_info(struct emugpu_gpu *gpu, struct emugpu_info *info)
{
	info->out_domain = pci_domain_nr(gpu->pdev->bus);
	info->out_bus = gpu->pdev->bus->number;
	info->out_device = PCI_SLOT(gpu->pdev->devfn);
	info->out_function = PCI_FUNC(gpu->pdev->devfn);
	info->out_integrated = EMUGPU_INTEGRATED;
	info->out_coherent = coherent;
	memcpy(info->out_uuid, gpu->uuid, sizeof(info->out_uuid));
	snprintf(info->out_name, sizeof(info->out_name), "Emulated GPU (%llu MiB BAR1)", gpu->size >> 20);
	info->out_vram_total = gpu->size;
	info->out_vram_free = emugpu_gpu_page_offset(emugpu_vram_nr_free(&gpu->vram));
	info->out_bar1_total = gpu->size;
	info->out_bar1_used = emugpu_bar1_used(&gpu->bar1);
	info->out_bar1_reserved = emugpu_bar1_reserved(&gpu->bar1);
}

MODULE_DESCRIPTION("Emulated GPU on an ivshmem BAR, with the GPUDirect RDMA kernel interface");
