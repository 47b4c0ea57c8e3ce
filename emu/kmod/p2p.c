// SPDX-License-Identifier: GPL-2.0
/*
 * The exported calls. What they promise is said in nv-p2p.h; here is only what
 * the emulator adds: a consumer that does what would corrupt memory in the
 * real driver is counted and named, and does no harm.
 */
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/pci.h>

#include <nv-p2p.h>

#include "../include/emugpu.h"
#include "api.h"
#include "dma.h"
#include "pin.h"

#define CALLER __builtin_return_address(0)

/* The callback's thread holds the API lock, so it would wait for itself. */
static int refuse_in_callback(const char *call)
{
	return WARN(emugpu_api_in_callback(), "%s called in a free callback\n", call) ? -EIO : 0;
}

/* No tokens are handed out, so any token is a wrong one. */
static bool valid_request(u64 p2p_token, u32 va_space, u64 va, u64 length)
{
	return !p2p_token && !va_space && length && !(va % EMUGPU_PAGE_SIZE) && !(length % EMUGPU_PAGE_SIZE);
}

int nvidia_p2p_get_pages(uint64_t p2p_token, uint32_t va_space, uint64_t virtual_address, uint64_t length,
			 struct nvidia_p2p_page_table **page_table, void (*free_callback)(void *data), void *data)
{
	struct emugpu_pin *pin;
	int err;

	atomic64_inc(&emugpu_counters.get_calls);
	if (!page_table || !free_callback || !valid_request(p2p_token, va_space, virtual_address, length))
		return -EINVAL;
	err = refuse_in_callback(__func__);
	if (err)
		return err;
	pin = emugpu_pin_new(virtual_address, length, free_callback, data);
	if (!pin)
		return -ENOMEM;
	*page_table = &pin->table;
	emugpu_api_lock();
	err = emugpu_pin_open(pin);
	emugpu_api_unlock();
	return err;
}
EXPORT_SYMBOL(nvidia_p2p_get_pages);

/*
 * REVOKED is success, without a word: the callback may have run while the
 * consumer was on its way here, and no consumer can prevent that.
 */
static int put_locked(u64 va, const struct nvidia_p2p_page_table *table, const void *caller)
{
	struct emugpu_pin *pin = emugpu_pin_find(table);

	if (pin && pin->state == EMUGPU_PIN_REVOKED)
		return 0;
	if (!pin || pin->state != EMUGPU_PIN_LIVE) {
		emugpu_violation(caller, "put_pages of a page table that is not pinned");
		return -EINVAL;
	}
	if (!emugpu_pin_is_mine(pin)) {
		emugpu_violation(caller, "put_pages by another process than get_pages: the pin is leaked");
		return 0;
	}
	if (pin->va != va) {
		emugpu_violation(caller, "put_pages with another address than get_pages");
		return -EINVAL;
	}
	emugpu_pin_put(pin);
	return 0;
}

int nvidia_p2p_put_pages(uint64_t p2p_token, uint32_t va_space, uint64_t virtual_address,
			 struct nvidia_p2p_page_table *page_table)
{
	int err;

	atomic64_inc(&emugpu_counters.put_calls);
	if (!page_table)
		return 0;
	err = refuse_in_callback(__func__);
	if (err)
		return err;
	emugpu_api_lock();
	err = put_locked(virtual_address, page_table, CALLER);
	emugpu_api_unlock();
	return err;
}
EXPORT_SYMBOL(nvidia_p2p_put_pages);

int nvidia_p2p_free_page_table(struct nvidia_p2p_page_table *page_table)
{
	return 0;
}
EXPORT_SYMBOL(nvidia_p2p_free_page_table);

/* A table just revoked is no violation here either, see put_locked(). */
static int dma_map_locked(struct pci_dev *peer, const struct nvidia_p2p_page_table *table,
			  struct nvidia_p2p_dma_mapping **mapping, const void *caller)
{
	struct emugpu_pin *pin = emugpu_pin_find(table);

	if (pin && pin->state == EMUGPU_PIN_LIVE)
		return emugpu_dma_map(pin, peer, mapping);
	if (!pin || pin->state != EMUGPU_PIN_REVOKED)
		emugpu_violation(caller, "dma_map_pages of a page table that is not pinned");
	return -EINVAL;
}

int nvidia_p2p_dma_map_pages(struct pci_dev *peer, struct nvidia_p2p_page_table *page_table,
			     struct nvidia_p2p_dma_mapping **dma_mapping)
{
	int err;

	if (!peer || !page_table || !dma_mapping)
		return -EINVAL;
	err = refuse_in_callback(__func__);
	if (err)
		return err;
	emugpu_api_lock();
	err = dma_map_locked(peer, page_table, dma_mapping, CALLER);
	emugpu_api_unlock();
	return err;
}
EXPORT_SYMBOL(nvidia_p2p_dma_map_pages);

/*
 * Takes the map lock alone, because the callback comes here under the API
 * lock, and because a callback may wait for another thread that is on its way
 * here. A consumer can and must keep this call from following the callback.
 */
int nvidia_p2p_dma_unmap_pages(struct pci_dev *peer, struct nvidia_p2p_page_table *page_table,
			       struct nvidia_p2p_dma_mapping *dma_mapping)
{
	struct emugpu_pin *pin;

	if (!peer || !page_table || !dma_mapping)
		return -EINVAL;
	mutex_lock(&emugpu_map_lock);
	pin = emugpu_pin_find(page_table);
	if (pin && pin->state == EMUGPU_PIN_LIVE)
		emugpu_dma_unmap(pin, peer, dma_mapping);
	else
		emugpu_violation(CALLER, "dma_unmap_pages of a page table that is not pinned");
	mutex_unlock(&emugpu_map_lock);
	return 0;
}
EXPORT_SYMBOL(nvidia_p2p_dma_unmap_pages);

int nvidia_p2p_free_dma_mapping(struct nvidia_p2p_dma_mapping *dma_mapping)
{
	return 0;
}
EXPORT_SYMBOL(nvidia_p2p_free_dma_mapping);
