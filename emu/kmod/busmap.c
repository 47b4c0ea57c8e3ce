// SPDX-License-Identifier: GPL-2.0
#include <linux/bitops.h>
#include <linux/iommu.h>
#include <linux/pci.h>
#include <linux/sched.h>
#include <linux/sizes.h>

#include "../include/emugpu.h"
#include "busmap.h"
#include "gpu.h"

#define END SZ_4G
#define START (END - SZ_64M)

enum { PAGES_AT_ONCE = 1024 };

static bool is_translated(const struct iommu_domain *domain)
{
	return domain && domain->type & __IOMMU_DOMAIN_DMA_API;
}

static void search_domain(struct iommu_domain *domain, const struct emugpu_gpu *gpu, const unsigned long *pages,
			  unsigned long *found)
{
	phys_addr_t phys;
	u64 bus;

	for (bus = START; bus < END; bus += PAGE_SIZE) {
		phys = iommu_iova_to_phys(domain, bus);
		if (phys >= gpu->bar && phys - gpu->bar < gpu->size &&
		    test_bit((phys - gpu->bar) / EMUGPU_PAGE_SIZE, pages))
			__set_bit((phys - gpu->bar) / EMUGPU_PAGE_SIZE, found);
		if (!(bus % (PAGES_AT_ONCE * PAGE_SIZE)))
			cond_resched();
	}
}

void emugpu_busmap_search(const struct emugpu_gpu *gpu, const unsigned long *pages, unsigned long *found)
{
	struct iommu_domain *domain;
	struct pci_dev *pdev = NULL;

	for_each_pci_dev(pdev) {
		domain = pdev->dev.driver && pdev != gpu->pdev ? iommu_get_domain_for_dev(&pdev->dev) : NULL;
		if (is_translated(domain))
			search_domain(domain, gpu, pages, found);
	}
}
