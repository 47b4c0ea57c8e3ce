// SPDX-License-Identifier: GPL-2.0
/*
 * The exported functions that pin and unpin, documented in nv-p2p.h. A call that would corrupt
 * memory in NVIDIA's driver has no effect here, and the monitor reports the call.
 */
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/mm.h>

#include <nv-p2p.h>

#include "../include/emugpu.h"
#include "api.h"
#include "driver.h"
#include "event.h"
#include "tombstone.h"
#include "monitor.h"
#include "pin.h"
#include "poison.h"
#include "trap.h"

/* For hardware of 2011; kept so that old consumers build and load. */
int nvidia_p2p_init_mapping(uint64_t p2p_token, struct nvidia_p2p_params *params,
			    void (*destroy_callback)(void *data), void *data)
{
	return -ENOTSUPP;
}
EMUGPU_EXPORT(nvidia_p2p_init_mapping);

int nvidia_p2p_destroy_mapping(uint64_t p2p_token)
{
	return -ENOTSUPP;
}
EMUGPU_EXPORT(nvidia_p2p_destroy_mapping);

/* A poisoned table for a call that fails before there is a pin. Such a call leaves no tombstone. */
static struct nvidia_p2p_page_table *table_of_none(void)
{
	static struct nvidia_p2p_page_table table;

	emugpu_poison(&table, sizeof(table));
	return &table;
}

/*
 * First check of both get_pages functions. NVIDIA's driver since 570 has this check, too. Older drivers fail later,
 * when they have stored the address of a table that they free.
 */
static int check_range(const struct emugpu_pin_request *request, struct nvidia_p2p_page_table **page_table)
{
	atomic64_inc(&emugpu_counters.get_calls);
	if (!((request->va | request->length) % EMUGPU_PAGE_SIZE))
		return 0;
	emugpu_violation(EMUGPU_RULE_UNALIGNED, request->caller);
	if (!emugpu_driver_since(570))
		*page_table = table_of_none();
	return -EINVAL;
}

/*
 * Before NVIDIA's driver looks for the memory, it allocates a list with 8 bytes for each page. It counts the pages in
 * 32 bits. So a huge length, like that of a range that ends before it begins, is -ENOMEM.
 */
static bool list_fits(u64 length)
{
	u64 bytes = (u64)(u32)(length / EMUGPU_PAGE_SIZE) * sizeof(u64);

	return bytes >> PAGE_SHIFT <= totalram_pages();
}

/*
 * If the call fails, *@page_table points at a poisoned table. NVIDIA's driver leaves a pointer to
 * freed memory there. If the pin cannot be allocated, *@page_table is NULL.
 */
static int get_pages(const struct emugpu_pin_request *request, struct nvidia_p2p_page_table **page_table,
		     enum emugpu_event_kind kind)
{
	struct nvidia_p2p_page_table *table;
	struct emugpu_pin *pin;
	int err = emugpu_api_check_caller();

	if (!err && !list_fits(request->length))
		err = -ENOMEM;
	*page_table = err ? table_of_none() : NULL;
	if (err)
		return err;
	pin = emugpu_pin_new(request);
	if (!pin)
		return -ENOMEM;
	table = pin->table;
	*page_table = table;
	emugpu_api_lock();
	err = emugpu_pin_open(pin);
	if (!err && !NVIDIA_P2P_VERSION_COMPATIBLE(table, emugpu_driver_table_version()))
		emugpu_trap_set_incompatible(table);
	emugpu_api_unlock();
	if (!err)
		emugpu_event_happens(kind, table, request->caller);
	return err;
}

int nvidia_p2p_get_pages(uint64_t p2p_token, uint32_t va_space, uint64_t virtual_address, uint64_t length,
			 struct nvidia_p2p_page_table **page_table, void (*free_callback)(void *data), void *data)
{
	const struct emugpu_pin_request request = {
		.p2p_token = p2p_token,
		.va_space = va_space,
		.va = virtual_address,
		.length = length,
		.callback = free_callback,
		.data = data,
		.caller = EMUGPU_CALLER,
	};
	int err;

	if (!free_callback) {
		emugpu_violation(EMUGPU_RULE_NO_CALLBACK, EMUGPU_CALLER);
		return -EINVAL;
	}
	if (!page_table) {
		emugpu_violation(EMUGPU_RULE_NULL_RESULT, EMUGPU_CALLER);
		return -EINVAL;
	}
	err = check_range(&request, page_table);
	if (err)
		return err;
	return get_pages(&request, page_table, EMUGPU_EVENT_PIN);
}
EMUGPU_EXPORT(nvidia_p2p_get_pages);

int nvidia_p2p_get_pages_persistent(uint64_t virtual_address, uint64_t length,
				    struct nvidia_p2p_page_table **page_table, uint32_t flags)
{
	const struct emugpu_pin_request request = {
		.va = virtual_address,
		.length = length,
		.force_bar1 = flags & NVIDIA_P2P_FLAGS_FORCE_BAR1_MAPPING,
		.caller = EMUGPU_CALLER,
	};
	int err;

	if (flags && !emugpu_driver_since(570))
		return -EINVAL;
	if (!page_table) {
		emugpu_violation(EMUGPU_RULE_NULL_RESULT, EMUGPU_CALLER);
		return -EINVAL;
	}
	err = check_range(&request, page_table);
	if (err)
		return err;
	if (flags & ~NVIDIA_P2P_FLAGS_FORCE_BAR1_MAPPING)
		emugpu_violation(EMUGPU_RULE_UNKNOWN_FLAGS, EMUGPU_CALLER);
	return get_pages(&request, page_table, EMUGPU_EVENT_PIN_PERSISTENT);
}
EMUGPU_EXPORT(nvidia_p2p_get_pages_persistent);

/*
 * A put of a revoked table is no violation: the callback may have run just before this call, and no
 * consumer can prevent that. A put by another process is a violation: the put returns 0, but the
 * memory stays pinned.
 */
static void put_locked(u64 p2p_token, u64 va, const struct nvidia_p2p_page_table *table, const void *caller)
{
	struct emugpu_pin *pin = emugpu_pin_find(table);

	if (pin && pin->state == EMUGPU_PIN_REVOKED)
		return;
	if (!pin || pin->state != EMUGPU_PIN_LIVE) {
		emugpu_pin_violation(EMUGPU_RULE_PUT_OF_DEAD_TABLE, pin, caller);
		return;
	}
	if (emugpu_pin_is_persistent(pin)) {
		emugpu_pin_violation(EMUGPU_RULE_PUT_WRONG_KIND, pin, caller);
		return;
	}
	if (!emugpu_pin_is_mine(pin, p2p_token)) {
		emugpu_pin_violation(EMUGPU_RULE_PUT_BY_OTHER_PROCESS, pin, caller);
		return;
	}
	if (pin->request.va != va)
		emugpu_pin_violation(EMUGPU_RULE_PUT_WRONG_ADDRESS, pin, caller);
	emugpu_pin_put(pin);
}

static int put_pages(u64 p2p_token, u64 va, const struct nvidia_p2p_page_table *table, const void *caller)
{
	int err;

	emugpu_event_happens(EMUGPU_EVENT_UNPIN, table, caller);
	err = emugpu_api_check_caller();
	if (err)
		return err;
	emugpu_api_lock();
	put_locked(p2p_token, va, table, caller);
	emugpu_api_unlock();
	return 0;
}

int nvidia_p2p_put_pages(uint64_t p2p_token, uint32_t va_space, uint64_t virtual_address,
			 struct nvidia_p2p_page_table *page_table)
{
	struct emugpu_tombstones_call call;
	int err;

	atomic64_inc(&emugpu_counters.put_calls);
	if (!page_table)
		return 0;
	if (emugpu_violation_of_pointer(page_table, EMUGPU_CALLER))
		return -EINVAL;
	emugpu_tombstones_call_begins(&call);
	err = put_pages(p2p_token, virtual_address, page_table, EMUGPU_CALLER);
	emugpu_tombstones_call_ends(&call);
	return err;
}
EMUGPU_EXPORT(nvidia_p2p_put_pages);

/* Reports a wrong pointer and fails. NVIDIA's driver dereferences the wrong pointer and crashes. */
static int put_persistent_locked(u64 va, const struct nvidia_p2p_page_table *table, const void *caller)
{
	struct emugpu_pin *pin = emugpu_pin_find(table);

	if (!pin || pin->state != EMUGPU_PIN_LIVE) {
		emugpu_pin_violation(EMUGPU_RULE_PUT_OF_DEAD_TABLE, pin, caller);
		return -EINVAL;
	}
	if (!emugpu_pin_is_persistent(pin)) {
		emugpu_pin_violation(EMUGPU_RULE_PUT_WRONG_KIND, pin, caller);
		return -EINVAL;
	}
	if (pin->request.va != va)
		emugpu_pin_violation(EMUGPU_RULE_PUT_WRONG_ADDRESS, pin, caller);
	emugpu_pin_put(pin);
	return 0;
}

int nvidia_p2p_put_pages_persistent(uint64_t virtual_address, struct nvidia_p2p_page_table *page_table, uint32_t flags)
{
	int err;

	atomic64_inc(&emugpu_counters.put_calls);
	if (flags)
		return -EINVAL;
	if (!page_table)
		return 0;
	if (emugpu_violation_of_pointer(page_table, EMUGPU_CALLER))
		return -EINVAL;
	emugpu_event_happens(EMUGPU_EVENT_UNPIN_PERSISTENT, page_table, EMUGPU_CALLER);
	err = emugpu_api_check_caller();
	if (err)
		return err;
	emugpu_api_lock();
	err = put_persistent_locked(virtual_address, page_table, EMUGPU_CALLER);
	emugpu_api_unlock();
	return err;
}
EMUGPU_EXPORT(nvidia_p2p_put_pages_persistent);

int nvidia_p2p_free_page_table(struct nvidia_p2p_page_table *page_table)
{
	if (page_table)
		emugpu_pin_free_table(page_table, EMUGPU_CALLER);
	return 0;
}
EMUGPU_EXPORT(nvidia_p2p_free_page_table);
