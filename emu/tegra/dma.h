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

/* Takes the map lock, as consumers call it in their callback. -EINVAL: there is no such mapping */
int emugpu_dma_unmap(const struct nvidia_p2p_dma_mapping *mapping);

/* Undoes those that are left; true if there were any. */
bool emugpu_dma_unmap_all(struct emugpu_pin *pin);

/* Nothing is left of mappings then: this and the next one. */
static inline bool emugpu_dma_is_owed(const struct emugpu_pin *pin)
{
	return false;
}

static inline bool emugpu_dma_forget(struct emugpu_pin *pin)
{
	return false;
}

#endif
