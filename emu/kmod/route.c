// SPDX-License-Identifier: GPL-2.0
#include <linux/moduleparam.h>
#include <linux/pci.h>

#include "gpu.h"
#include "route.h"

static bool far_peers = true;
module_param(far_peers, bool, 0644);
MODULE_PARM_DESC(far_peers, "1: map memory for all peers (default); 0: only for peers below the GPU's root complex");

static const struct pci_bus *root_of(struct pci_dev *dev)
{
	const struct pci_bus *bus = dev->bus;

	while (bus->parent)
		bus = bus->parent;
	return bus;
}

/* A device that is not on a PCI bus makes no peer-to-peer transfers, so its route cannot be wrong. */
bool emugpu_route_is_supported(const struct emugpu_gpu *gpu, struct device *peer)
{
	return READ_ONCE(far_peers) || !dev_is_pci(peer) || root_of(gpu->pdev) == root_of(to_pci_dev(peer));
}
