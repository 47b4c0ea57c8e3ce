/* SPDX-License-Identifier: GPL-2.0 */
/* DMA mappings: the bus addresses of a pin for one peer device. */
#ifndef _EMUGPU_DMA_H
#define _EMUGPU_DMA_H

#include <linux/dma-direction.h>
#include <linux/types.h>

struct device;
struct emugpu_pin;
struct nvidia_p2p_dma_mapping;

/* API lock held. 0, -ENOMEM, or -EIO when @peer cannot reach the memory */
int emugpu_dma_map(struct emugpu_pin *pin, struct device *peer, enum dma_data_direction direction,
		   struct nvidia_p2p_dma_mapping **mapping);

/* Called by consumers in their callback; takes only the map lock. -EINVAL: no such mapping */
int emugpu_dma_unmap(const struct nvidia_p2p_dma_mapping *mapping);

/* Undoes all mappings left; returns whether there were any. */
bool emugpu_dma_unmap_all(struct emugpu_pin *pin);

/* This and the next one: unmapping frees the record, so a dead pin has no mappings. */
static inline bool emugpu_dma_is_owed(const struct emugpu_pin *pin)
{
	return false;
}

static inline bool emugpu_dma_forget(struct emugpu_pin *pin)
{
	return false;
}

#endif
