/* SPDX-License-Identifier: GPL-2.0 */
/* The engine of a 53C895A that no driver has. */
#ifndef _TEGRA_ENGINE_H
#define _TEGRA_ENGINE_H

#include <linux/types.h>

struct pci_dev;

/* Moves @len bytes, below 16 MiB, from bus address to bus address. EBUSY a driver has it; EIO; ETIMEDOUT; ENOMEM */
int engine_move(struct pci_dev *chip, dma_addr_t to, dma_addr_t from, u32 len);

#endif
