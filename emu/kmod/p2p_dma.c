// SPDX-License-Identifier: GPL-2.0
/* The exported functions that map pinned pages for a peer device. */
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/pci.h>

#include <nv-p2p.h>

#include "api.h"
#include "dma.h"
#include "driver.h"
#include "event.h"
#include "tombstone.h"
#include "monitor.h"
#include "pin.h"

/*
 * Mapping an incompatible table is a violation: a consumer that was built with the header of the played
 * driver, and checks the version, refuses the table.
 */
static int map_live(struct emugpu_pin *pin, struct pci_dev *peer, struct nvidia_p2p_dma_mapping **mapping,
		    const void *caller)
{
	if (!NVIDIA_P2P_VERSION_COMPATIBLE(pin->table, emugpu_driver_table_version()))
		emugpu_pin_violation(EMUGPU_RULE_NO_VERSION_CHECK, pin, caller);
	return emugpu_dma_map(pin, peer, mapping);
}

/* Mapping a revoked table is no violation: the callback may have run just before this call. */
static int map_locked(struct pci_dev *peer, const struct nvidia_p2p_page_table *table,
		      struct nvidia_p2p_dma_mapping **mapping, const void *caller)
{
	struct emugpu_pin *pin = emugpu_pin_find(table);

	if (pin && pin->state == EMUGPU_PIN_LIVE)
		return map_live(pin, peer, mapping, caller);
	if (!pin || pin->state != EMUGPU_PIN_REVOKED)
		emugpu_pin_violation(EMUGPU_RULE_MAP_OF_DEAD_TABLE, pin, caller);
	return -EINVAL;
}

static int map_pages(struct pci_dev *peer, const struct nvidia_p2p_page_table *table,
		     struct nvidia_p2p_dma_mapping **mapping, const void *caller)
{
	int err = emugpu_api_check_caller();

	if (err)
		return err;
	emugpu_api_lock();
	err = map_locked(peer, table, mapping, caller);
	emugpu_api_unlock();
	if (!err)
		emugpu_event_happens(EMUGPU_EVENT_MAP, table, caller);
	return err;
}

int nvidia_p2p_dma_map_pages(struct pci_dev *peer, struct nvidia_p2p_page_table *page_table,
			     struct nvidia_p2p_dma_mapping **dma_mapping)
{
	struct emugpu_tombstones_call call;
	int err;

	if (!peer || !page_table || !dma_mapping)
		return -EINVAL;
	if (emugpu_violation_of_pointer(peer, EMUGPU_CALLER) || emugpu_violation_of_pointer(page_table, EMUGPU_CALLER))
		return -EINVAL;
	WRITE_ONCE(*dma_mapping, NULL);	/* the consumer's callback may run now, and look at it */
	emugpu_tombstones_call_begins(&call);
	err = map_pages(peer, page_table, dma_mapping, EMUGPU_CALLER);
	emugpu_tombstones_call_ends(&call);
	return err;
}
EMUGPU_EXPORT(nvidia_p2p_dma_map_pages);

/*
 * Takes only the map lock: the free callback calls this function under the API lock, and a callback
 * may wait for another thread that is in this function. The consumer must not call this function
 * after the callback has returned.
 */
int nvidia_p2p_dma_unmap_pages(struct pci_dev *peer, struct nvidia_p2p_page_table *page_table,
			       struct nvidia_p2p_dma_mapping *dma_mapping)
{
	enum emugpu_rule rule = EMUGPU_RULE_UNMAP_OF_DEAD_TABLE;
	struct emugpu_pin *pin;

	if (!peer || !page_table || !dma_mapping)
		return -EINVAL;
	if (emugpu_violation_of_pointer(peer, EMUGPU_CALLER) || emugpu_violation_of_pointer(page_table, EMUGPU_CALLER) ||
	    emugpu_violation_of_pointer(dma_mapping, EMUGPU_CALLER))
		return -EINVAL;
	emugpu_event_happens(EMUGPU_EVENT_UNMAP, page_table, EMUGPU_CALLER);
	mutex_lock(&emugpu_map_lock);
	pin = emugpu_pin_find(page_table);
	if (pin && pin->state == EMUGPU_PIN_LIVE)
		rule = emugpu_dma_unmap(pin, peer, dma_mapping);
	if (rule != EMUGPU_RULES)
		emugpu_pin_violation(rule, pin, EMUGPU_CALLER);
	mutex_unlock(&emugpu_map_lock);
	WARN(rule == EMUGPU_RULE_UNMAP_WRONG_PEER, "dma_unmap_pages: the mapping belongs to another device\n");
	return 0;
}
EMUGPU_EXPORT(nvidia_p2p_dma_unmap_pages);

int nvidia_p2p_free_dma_mapping(struct nvidia_p2p_dma_mapping *dma_mapping)
{
	if (dma_mapping)
		emugpu_dma_free(dma_mapping, EMUGPU_CALLER);
	return 0;
}
EMUGPU_EXPORT(nvidia_p2p_free_dma_mapping);
