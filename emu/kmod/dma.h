/* SPDX-License-Identifier: GPL-2.0 */
/* DMA mappings: the bus addresses of a pin's pages for one peer device. */
#ifndef _EMUGPU_DMA_H
#define _EMUGPU_DMA_H

#include <nv-p2p.h>

struct emugpu_pin;

/* API lock held: the pin is live and stays so. */
int emugpu_dma_map(struct emugpu_pin *pin, struct pci_dev *peer, struct nvidia_p2p_dma_mapping **mapping);

/* Map lock held; a mapping that is not of @pin is left alone. */
void emugpu_dma_unmap(struct emugpu_pin *pin, struct pci_dev *peer, struct nvidia_p2p_dma_mapping *mapping);

void emugpu_dma_unmap_all(struct emugpu_pin *pin);

u32 emugpu_dma_count(const struct emugpu_pin *pin);

#endif
