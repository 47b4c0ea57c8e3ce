/* SPDX-License-Identifier: GPL-2.0 */
/* DMA mappings: the bus addresses of a pin for one peer device. */
#ifndef _EMUGPU_DMA_H
#define _EMUGPU_DMA_H

#include <linux/types.h>

struct emugpu_pin;
struct nvidia_p2p_dma_mapping;
struct pci_dev;

/* API lock held. 0, -ENOMEM, or -EIO when @peer cannot reach the memory */
int emugpu_dma_map(struct emugpu_pin *pin, struct pci_dev *peer, struct nvidia_p2p_dma_mapping **mapping);

/* Map lock held. EMUGPU_RULES, or the rule that was broken; the mapping is gone anyway. */
enum emugpu_rule emugpu_dma_unmap(struct emugpu_pin *pin, struct pci_dev *peer,
				  struct nvidia_p2p_dma_mapping *mapping);

/* What consumers call in their callback, or after it; takes the map lock. */
void emugpu_dma_free(struct nvidia_p2p_dma_mapping *mapping, const void *caller);

/* Undoes those that are left; true if the consumer forgot one. Those of a pin called back it may free later. */
bool emugpu_dma_unmap_all(struct emugpu_pin *pin);

/* Map lock held, a dead pin: whether the consumer has a mapping of it to free */
bool emugpu_dma_is_owed(const struct emugpu_pin *pin);

/* Map lock held, the last look at the mappings of a dead pin: true if the consumer never freed one. */
bool emugpu_dma_forget(struct emugpu_pin *pin);

#endif
