// SPDX-License-Identifier: GPL-2.0
/* The exported functions that map pinned pages for a peer device. */
#include <linux/dma-mapping.h>
#include <linux/errno.h>
#include <linux/export.h>

#include <nv-p2p.h>

#include "../include/emugpu.h"
#include "api.h"
#include "dma.h"
#include "event.h"
#include "tombstone.h"
#include "monitor.h"
#include "pin.h"

/* Mapping a revoked table is no violation: the callback may have run just before this call. */
static int map_locked(struct device *dev, const struct nvidia_p2p_page_table *table,
		      struct nvidia_p2p_dma_mapping **mapping, enum dma_data_direction direction, const void *caller)
{
	struct emugpu_pin *pin = emugpu_pin_find(table);

	if (pin && pin->state == EMUGPU_PIN_LIVE)
		return emugpu_dma_map(pin, dev, direction, mapping);
	if (!pin || pin->state != EMUGPU_PIN_REVOKED)
		emugpu_pin_violation(EMUGPU_RULE_MAP_OF_DEAD_TABLE, pin, caller);
	return -EINVAL;
}

static int map_pages(struct device *dev, const struct nvidia_p2p_page_table *table,
		     struct nvidia_p2p_dma_mapping **mapping, enum dma_data_direction direction, const void *caller)
{
	int err = emugpu_api_check_caller();

	if (err)
		return err;
	emugpu_api_lock();
	err = map_locked(dev, table, mapping, direction, caller);
	emugpu_api_unlock();
	if (!err)
		emugpu_event_happens(EMUGPU_EVENT_MAP, table, caller);
	return err;
}

int nvidia_p2p_dma_map_pages(struct device *dev, struct nvidia_p2p_page_table *page_table,
			     struct nvidia_p2p_dma_mapping **dma_mapping, enum dma_data_direction direction)
{
	struct emugpu_tombstones_call call;
	int err;

	if (!dev || !page_table || !dma_mapping || !valid_dma_direction(direction))
		return -EINVAL;
	WRITE_ONCE(*dma_mapping, NULL);	/* the consumer's callback may run now, and look at it */
	emugpu_tombstones_call_begins(&call);
	err = map_pages(dev, page_table, dma_mapping, direction, EMUGPU_CALLER);
	emugpu_tombstones_call_ends(&call);
	return err;
}
EMUGPU_EXPORT(nvidia_p2p_dma_map_pages);

static int unmap(const struct nvidia_p2p_dma_mapping *mapping, enum emugpu_rule rule, const void *caller)
{
	int err;

	if (!mapping || emugpu_violation_of_pointer(mapping, caller))
		return -EINVAL;
	emugpu_event_happens(EMUGPU_EVENT_UNMAP, NULL, caller);
	err = emugpu_dma_unmap(mapping);
	if (err)
		emugpu_violation(rule, caller);
	return err;
}

int nvidia_p2p_dma_unmap_pages(struct nvidia_p2p_dma_mapping *dma_mapping)
{
	return unmap(dma_mapping, EMUGPU_RULE_UNMAP_OF_DEAD_MAPPING, EMUGPU_CALLER);
}
EMUGPU_EXPORT(nvidia_p2p_dma_unmap_pages);

/* Same as dma_unmap_pages. NVIDIA's driver has this function for use in the callback. */
int nvidia_p2p_free_dma_mapping(struct nvidia_p2p_dma_mapping *dma_mapping)
{
	return unmap(dma_mapping, EMUGPU_RULE_FREE_OF_DEAD_MAPPING, EMUGPU_CALLER);
}
EMUGPU_EXPORT(nvidia_p2p_free_dma_mapping);
