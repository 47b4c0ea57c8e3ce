/* SPDX-License-Identifier: GPL-2.0 */
/* DMA mappings: the bus addresses of a pin for one peer device. */
#ifndef _EMUGPU_DMA_H
#define _EMUGPU_DMA_H

#include <linux/types.h>

struct emugpu_pin;
struct nvidia_p2p_dma_mapping;
struct pci_dev;

/*
 * Maps the pages of @pin for @peer. Errors: -ENOMEM; -EIO: @peer cannot reach the memory, or the
 * GPU is gone; -EINVAL: the consumer has overwritten the page table; an error that a test injects. API
 * lock held.
 */
int emugpu_dma_map(struct emugpu_pin *pin, struct pci_dev *peer, struct nvidia_p2p_dma_mapping **mapping);

/* Undoes @mapping, even if @peer is wrong. Returns the broken rule, or EMUGPU_RULES if none. Map lock held. */
enum emugpu_rule emugpu_dma_unmap(struct emugpu_pin *pin, struct pci_dev *peer,
				  struct nvidia_p2p_dma_mapping *mapping);

/* Marks @mapping as freed. Called by consumers in or after their callback. Takes only the map lock. */
void emugpu_dma_free(struct nvidia_p2p_dma_mapping *mapping, const void *caller);

/*
 * Undoes all remaining mappings of @pin. Returns true if the consumer leaked a mapping. After the
 * callback a remaining mapping is no leak: the consumer may still call free_dma_mapping.
 */
bool emugpu_dma_unmap_all(struct emugpu_pin *pin);

/* Whether the consumer of the ended @pin must still free a mapping. Map lock held. */
bool emugpu_dma_is_owed(const struct emugpu_pin *pin);

/*
 * Frees the records of the mappings of the ended @pin. Returns true if the consumer has left a
 * mapping unfreed. Map lock held.
 */
bool emugpu_dma_forget(struct emugpu_pin *pin);

#endif
