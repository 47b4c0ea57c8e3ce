// SPDX-License-Identifier: GPL-2.0
#include <linux/moduleparam.h>
#include <linux/pci.h>

#include "driver.h"
#include "gpu.h"
#include "route.h"

static bool far_peers = true;
module_param(far_peers, bool, 0644);
MODULE_PARM_DESC(far_peers, "1: map memory for all peers (default); "
		 "0: since driver 580, non-coherent GPUs refuse peers without a common bridge");

static bool is_below(struct pci_dev *dev, const struct pci_dev *bridge)
{
	while ((dev = pci_upstream_bridge(dev)))
		if (dev == bridge)
			return true;
	return false;
}

static bool have_common_bridge(struct pci_dev *a, struct pci_dev *b)
{
	struct pci_dev *bridge = a;

	while ((bridge = pci_upstream_bridge(bridge)))
		if (is_below(b, bridge))
			return true;
	return false;
}

/* A device that is not on a PCI bus makes no peer-to-peer transfers, so its route cannot be wrong. */
bool emugpu_route_is_supported(const struct emugpu_gpu *gpu, struct device *peer)
{
	if (READ_ONCE(far_peers) || !emugpu_driver_since(580) || emugpu_gpu_is_coherent() || !dev_is_pci(peer))
		return true;
	return have_common_bridge(gpu->pdev, to_pci_dev(peer));
}
