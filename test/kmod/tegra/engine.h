/* SPDX-License-Identifier: GPL-2.0 */
/* The DMA engine of a 53C895A without a driver. */
#ifndef _TEGRA_ENGINE_H
#define _TEGRA_ENGINE_H

#include <linux/types.h>

struct pci_dev;

/* Move @len bytes (less than 16 MiB). -EBUSY: a driver is bound to the chip; -EIO; -ETIMEDOUT; -ENOMEM */
int engine_move(struct pci_dev *chip, dma_addr_t to, dma_addr_t from, u32 len);

#endif
