// SPDX-License-Identifier: GPL-2.0
#include <linux/dma-mapping.h>
#include <linux/err.h>
#include <linux/iommu.h>
#include <linux/platform_device.h>
#include "chip.h"
#include "device.h"
#include "ib_peer_shim.h"

static struct platform_device *wide, *narrow;
static struct device *software;

struct device *shim_device(u32 which)
{
	switch (which) {
	case IB_PEER_CHIP:
		return shim_chip_device() ?: ERR_PTR(-ENODEV);
	case IB_PEER_PLATFORM:
		return &wide->dev;
	case IB_PEER_PLATFORM_24:
		return &narrow->dev;
	case IB_PEER_SOFTWARE:
		return software;
	case IB_PEER_NO_DEVICE:
		return NULL;
	default:
		return ERR_PTR(-ENODEV);
	}
}

int shim_device_look(u32 which, u64 bus, u64 *phys)
{
	struct device *dev = shim_device(which);
	struct iommu_domain *domain;

	if (IS_ERR_OR_NULL(dev))
		return -ENODEV;
	domain = iommu_get_domain_for_dev(dev);
	if (!domain || domain->type == IOMMU_DOMAIN_IDENTITY)
		return -ENODATA;
	*phys = iommu_iova_to_phys(domain, bus);
	return 0;
}

static struct platform_device *device_new(const char *name, u64 mask)
{
	struct platform_device *p = platform_device_register_simple(name, PLATFORM_DEVID_NONE, NULL, 0);
	int ret;

	if (IS_ERR(p))
		return p;
	ret = dma_set_mask(&p->dev, mask);
	if (!ret)
		return p;
	platform_device_unregister(p);
	return ERR_PTR(ret);
}

int shim_devices_init(struct device *node)
{
	software = node;
	wide = device_new("ib_peer_platform", DMA_BIT_MASK(64));
	if (IS_ERR(wide))
		return PTR_ERR(wide);
	narrow = device_new("ib_peer_platform_24", DMA_BIT_MASK(24));
	if (IS_ERR(narrow)) {
		platform_device_unregister(wide);
		return PTR_ERR(narrow);
	}
	return 0;
}

void shim_devices_exit(void)
{
	platform_device_unregister(narrow);
	platform_device_unregister(wide);
}
