// SPDX-License-Identifier: GPL-2.0
#include <linux/delay.h>
#include <linux/iommu.h>
#include <linux/moduleparam.h>
#include <linux/pci-p2pdma.h>
#include <linux/pci.h>

#include "compat.h"
#include "gpu.h"
#include "p2pmem.h"

enum { WAIT_MS = 10 };

static bool p2pdma;
module_param(p2pdma, bool, 0444);
MODULE_PARM_DESC(p2pdma, "1: the CPU can mmap() dma-bufs, as p2pdma memory, with any driver_version (default 0: from 610 on; if coherent, from 580 on)");

/*
 * QEMU's PCIe switches send all traffic of a device upstream through the IOMMU, but have no ACS
 * capability. So the kernel gives peers plain bus addresses. The IOMMU does not translate these
 * addresses, and transfers would fail.
 */
static bool goes_astray(struct pci_dev *pdev)
{
	struct iommu_domain *domain = iommu_get_domain_for_dev(&pdev->dev);
	struct pci_dev *port = pci_upstream_bridge(pdev);

	return domain && domain->type & __IOMMU_DOMAIN_PAGING && port &&
	       pci_pcie_type(port) == PCI_EXP_TYPE_DOWNSTREAM;
}

static int register_bar(struct pci_dev *pdev, u64 size)
{
	int err;

	if (goes_astray(pdev)) {
		pci_warn(pdev, "p2pdma does not work with an IOMMU and QEMU's switches; use --topology flat or root-ports\n");
		return -EOPNOTSUPP;
	}
	err = pci_p2pdma_add_resource(pdev, EMUGPU_BAR, size, 0);
	if (err == -EOPNOTSUPP)
		pci_warn(pdev, "p2pdma: this kernel was built without PCI_P2PDMA; boot another, as with --kernel 7\n");
	else if (err)
		pci_warn(pdev, "p2pdma: the kernel cannot make pages for the BAR (error %d)\n", err);
	return err;
}

static void set_counts(struct page *first, u64 size, int count)
{
	u64 i;

	for (i = 0; i < size / PAGE_SIZE; i++)
		set_page_count(first + i, count);
}

/* Allocates the whole p2pdma pool of the device, so the kernel cannot give pages of it to other users. */
struct page *emugpu_p2pmem_open(struct pci_dev *pdev, u64 size)
{
	struct page *first;
	void *at;

	if (!p2pdma || register_bar(pdev, size))
		return NULL;
	at = pci_alloc_p2pmem(pdev, size);
	if (!at)
		return NULL;
	first = virt_to_page(at);
	set_counts(first, size, 1);
	return first;
}

void emugpu_p2pmem_await_home(struct pci_dev *pdev, u64 size, struct page *first)
{
	bool told = false;
	u32 page;

	for (page = 0; first && page < size / EMUGPU_PAGE_SIZE; page++) {
		while (!emugpu_p2pmem_is_home(first, page)) {
			if (!told)
				pci_info(pdev, "p2pdma: waiting for direct I/O to or from the GPU to end\n");
			told = true;
			msleep(WAIT_MS);
		}
	}
}

void emugpu_p2pmem_close(struct pci_dev *pdev, u64 size, struct page *first)
{
	if (!first)
		return;
	set_counts(first, size, EMUGPU_P2P_IDLE_COUNT);
	pci_free_p2pmem(pdev, page_address(first), size);
}
