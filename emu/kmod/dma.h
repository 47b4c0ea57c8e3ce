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

/* Map lock held. Returns EMUGPU_RULES, or the broken rule. Undoes the mapping even for a wrong peer. */
enum emugpu_rule emugpu_dma_unmap(struct emugpu_pin *pin, struct pci_dev *peer,
				  struct nvidia_p2p_dma_mapping *mapping);

/* Called by consumers in or after their callback; takes the map lock. */
void emugpu_dma_free(struct nvidia_p2p_dma_mapping *mapping, const void *caller);

/*
 * Undoes all mappings left. Returns true if the consumer leaked one. After the callback that is no
 * leak: the consumer may still call free_dma_mapping.
 */
bool emugpu_dma_unmap_all(struct emugpu_pin *pin);

/* For a dead pin: whether the consumer still has a mapping to free. Map lock held. */
bool emugpu_dma_is_owed(const struct emugpu_pin *pin);

/* Frees the records of a dead pin's mappings; true if the consumer never freed one of them. Map lock held. */
bool emugpu_dma_forget(struct emugpu_pin *pin);

#endif
