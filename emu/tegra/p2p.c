// SPDX-License-Identifier: GPL-2.0
/*
 * The exported functions that pin and unpin, documented in nv-p2p.h. A call that would corrupt
 * memory in NVIDIA's driver has no effect here, and the monitor reports the call. Two errors of a
 * consumer still do harm: a wrong kfree() of a table, and writes to pages[].
 */
#include <linux/bug.h>
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/mm.h>

#include <nv-p2p.h>

#include "../include/emugpu.h"
#include "api.h"
#include "event.h"
#include "tombstone.h"
#include "monitor.h"
#include "pin.h"

static int check_request(const struct emugpu_pin_request *request)
{
	if (!request->callback) {
		emugpu_violation(EMUGPU_RULE_NO_CALLBACK, request->caller);
		return -EINVAL;
	}
	if (!PAGE_ALIGNED(request->va | request->length)) {
		emugpu_violation(EMUGPU_RULE_UNALIGNED, request->caller);
		return -EINVAL;
	}
	return emugpu_api_check_caller();
}

static int open_pin(struct emugpu_pin *pin, struct nvidia_p2p_page_table **page_table, const void *caller)
{
	struct nvidia_p2p_page_table *table = pin->table;
	int err;

	emugpu_api_lock();
	err = emugpu_pin_open(pin);
	if (!err)
		*page_table = table;
	emugpu_api_unlock();
	if (!err)
		emugpu_event_happens(EMUGPU_EVENT_PIN, table, caller);
	return err;
}

/* Stores the pointer under the API lock, before a callback can need the pointer. */
int nvidia_p2p_get_pages(u64 vaddr, u64 size, struct nvidia_p2p_page_table **page_table,
			 void (*free_callback)(void *data), void *data)
{
	const struct emugpu_pin_request request = {
		.va = vaddr,
		.length = size,
		.callback = free_callback,
		.data = data,
		.caller = EMUGPU_CALLER,
	};
	struct emugpu_pin *pin;
	int err;

	if (!page_table)
		return -EINVAL;
	*page_table = NULL;
	atomic64_inc(&emugpu_counters.get_calls);
	err = check_request(&request);
	if (err)
		return err;
	pin = emugpu_pin_new(&request);
	if (!pin)
		return -ENOMEM;
	return open_pin(pin, page_table, request.caller);
}
EMUGPU_EXPORT(nvidia_p2p_get_pages);

/*
 * Which tables may be put:
 *	- A live table.
 *	- A revoked table that is not freed yet: no consumer can prevent a revocation just before the put.
 *	- A table freed by a callback at the end of the process, once. That put releases the MMU notifier.
 * The put of any other freed table is a violation: NVIDIA's driver would dereference the pointer.
 */
static int put_locked(const struct nvidia_p2p_page_table *table, const void *caller)
{
	struct emugpu_pin *pin = emugpu_pin_find(table);

	if ((pin && pin->state == EMUGPU_PIN_REVOKED) || (!pin && emugpu_pin_end_due(table)))
		return 0;
	if (!pin || pin->state != EMUGPU_PIN_LIVE) {
		emugpu_pin_violation(EMUGPU_RULE_PUT_OF_DEAD_TABLE, pin, caller);
		return -EINVAL;
	}
	emugpu_pin_put(pin);
	return 0;
}

static int put_pages(const struct nvidia_p2p_page_table *table, const void *caller)
{
	int err;

	emugpu_event_happens(EMUGPU_EVENT_UNPIN, table, caller);
	err = emugpu_api_check_caller();
	if (err)
		return err;
	emugpu_api_lock();
	err = put_locked(table, caller);
	emugpu_api_unlock();
	return err;
}

int nvidia_p2p_put_pages(struct nvidia_p2p_page_table *page_table)
{
	struct emugpu_tombstones_call call;
	int err;

	atomic64_inc(&emugpu_counters.put_calls);
	if (!page_table || emugpu_violation_of_pointer(page_table, EMUGPU_CALLER))
		return -EINVAL;
	emugpu_tombstones_call_begins(&call);
	err = put_pages(page_table, EMUGPU_CALLER);
	emugpu_tombstones_call_ends(&call);
	return err;
}
EMUGPU_EXPORT(nvidia_p2p_put_pages);

static bool is_mapped(const struct nvidia_p2p_page_table *table)
{
	struct emugpu_pin *pin;
	bool mapped;

	mutex_lock(&emugpu_map_lock);
	pin = emugpu_pin_find(table);
	mapped = pin && !list_empty(&pin->maps);
	mutex_unlock(&emugpu_map_lock);
	return mapped;
}

int nvidia_p2p_free_page_table(struct nvidia_p2p_page_table *page_table)
{
	if (!page_table)
		return 0;
	WARN(is_mapped(page_table), "free_page_table: the table still has a DMA mapping\n");
	emugpu_pin_free_table(page_table, EMUGPU_CALLER);
	return 0;
}
EMUGPU_EXPORT(nvidia_p2p_free_page_table);
