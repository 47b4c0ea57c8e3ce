/* SPDX-License-Identifier: GPL-2.0 */
/* DMA mappings: the bus addresses of a pin for one peer device. */
#ifndef _EMUGPU_DMA_H
#define _EMUGPU_DMA_H

#include <linux/dma-direction.h>
#include <linux/types.h>

struct device;
struct emugpu_pin;
struct nvidia_p2p_dma_mapping;

/* Maps @pin for @peer. Errors: -ENOMEM; -EIO: @peer cannot reach the memory; an injected error. API lock held. */
int emugpu_dma_map(struct emugpu_pin *pin, struct device *peer, enum dma_data_direction direction,
		   struct nvidia_p2p_dma_mapping **mapping);

/* Undoes and frees @mapping; -EINVAL: not found. Allowed in the consumer's callback. Takes only the map lock. */
int emugpu_dma_unmap(const struct nvidia_p2p_dma_mapping *mapping);

/* Undoes all remaining mappings of @pin. Returns true if any remained. */
bool emugpu_dma_unmap_all(struct emugpu_pin *pin);

/* Unmapping frees the record, so an ended pin has no mappings: this and emugpu_dma_forget() return false. */
static inline bool emugpu_dma_is_owed(const struct emugpu_pin *pin)
{
	return false;
}

static inline bool emugpu_dma_forget(struct emugpu_pin *pin)
{
	return false;
}

#endif
