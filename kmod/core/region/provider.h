/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A provider pins one kind of memory. The core passes an address range to the provider. If only
 * the provider can map the memory (a dma-buf), the core also passes a device.
 *
 * These functions are the only ones that the core exports without the GPL mark: a
 * provider may have to link with a driver that is not GPL.
 *
 * To add a provider:
 *	- Add an id to enum peerpin_provider (uapi/peerpin.h), and its name to trace.h.
 *	- Raise the highest id in provider.c (PROVIDER_IDS) and pp_region_check().
 *	- If AUTO has to ask the provider, add its id to ask_order in provider.c.
 *	- Write providers/NAME.c with a struct pp_provider, and build it in Kbuild.
 *	- Call pp_provider_register() from the init of its module or from main.c.
 *	- If the provider takes a file descriptor, allow that in pp_region_check().
 *	- If the provider needs a new flag, add the flag to pp_region_check(), PROVIDER_KINDS and
 *	  pp_provider_flags().
 */
#ifndef _PEERPIN_PROVIDER_H
#define _PEERPIN_PROVIDER_H

#include <linux/list.h>
#include <linux/types.h>
#include "../../uapi/peerpin.h"

struct device;
struct module;
struct sg_table;

/** struct pp_extent - physically contiguous pinned memory */
struct pp_extent {
	phys_addr_t phys;
	u64 length;
};

/**
 * struct pp_extents - a list of extents
 * @at: the extents
 * @room: entries in @at; further extents are counted only
 * @count: number of extents
 * @bytes: sum of the lengths of all extents
 * @last: physical address of the end of the last extent
 */
struct pp_extents {
	struct pp_extent *at;
	u32 room;
	u32 count;
	u64 bytes;
	phys_addr_t last;
};

/** pp_extents_add() - append memory; extends the last extent if adjacent. May sleep */
void pp_extents_add(struct pp_extents *x, phys_addr_t phys, u64 length);

/**
 * struct pp_request - memory that a provider is to pin
 * @addr: multiple of the provider's page size
 * @length: multiple of the provider's page size, not 0
 * @p2p_token: as in struct peerpin_pin
 * @va_space_token: as in struct peerpin_pin
 * @fd: as in struct peerpin_pin
 * @cookie: number of the region, for pp_revoke(); never used twice
 */
struct pp_request {
	u64 addr;
	u64 length;
	u64 p2p_token;
	u32 va_space_token;
	int fd;
	unsigned long cookie;
};

/** struct pp_why - details of a failure of @pin */
struct pp_why {
	u32 reason;	/* enum peerpin_reason */
	u64 needed;	/* bytes, or 0 */
	u64 available;	/* bytes; 0: none, or not known */
};

/**
 * struct pp_provider - const description of a provider
 * @owner: module that must stay while regions of this provider exist
 * @name: for display
 * @id: enum peerpin_provider
 * @flags: PEERPIN_PIN_*: the kind of pin that the provider makes; unique together with @id
 * @page_size: bytes, a power of two of at most 1 MiB; ranges are rounded to this size
 * @exact: a range that does not consist of whole pages is refused, not rounded
 * @page_backed: the memory has struct pages and is mapped by dma_map_sgtable(). False: the memory
 *	is a BAR, mapped by dma_map_phys() with DMA_ATTR_MMIO; or, if @look says CACHED, memory of a coherent GPU,
 *	mapped without that attribute
 * @lasting: non-revocable memory: the pages stay pinned whatever the memory's owner does. True
 *	for host memory, and for GPU memory of a persistent pin. Such a region is revoked only
 *	by pp_revoke_soon(), or by the core when the device is unbound. False: the memory is
 *	revocable. The owner of the memory may free the memory, and revokes by pp_revoke()
 * @tries: the core calls @pin up to this many times, each time for a new region, if the region is revoked before it is
 *	live, or @pin returns -ESTALE; 0: once. A pending signal ends the tries with -EINTR. Between two tries nothing is
 *	charged, so another thread may use up the limits. For memory whose notifier also reports changes that replace no
 *	page
 * @unpin_by_owner: @unpin works only in the process that pinned. The core does not call @unpin
 *	in other processes: the pages then stay pinned until revoked
 * @priv_size: bytes of private memory for each region, zeroed, passed to all calls
 *	below and freed by the core
 *
 * The core calls these functions with none of its locks held, except @look. The order is:
 *	1. pin
 *	2. look, then extents or map
 *	3. release after a revocation, or unpin at a close; for revocable memory perhaps both, at
 *	   the same time
 *	4. cleanup
 *	5. free
 * unmap may come after cleanup. A region that was revoked during pin gets neither release nor
 * unpin. So a provider whose pages can be revoked during @pin needs a @cleanup that gives them
 * back.
 *
 * @pin: pin the range. Process context of the owner; may call the GPU driver. On failure nothing
 *	may stay pinned. With AUTO the core asks the next provider after -EINVAL (not memory of this
 *	provider) and after -EOPNOTSUPP (the GPU driver cannot make this pin).
 * @look: check the pinned pages (@length bytes, a known version of the page table), and set
 *	@caching: how the CPU may map the pages (enum peerpin_caching, NONE before the call). Runs
 *	under a spinlock with interrupts off: must not sleep. On failure the core unpins.
 * @extents: append all pinned pages to @x. NULL: the CPU cannot map the pages. Called any number of
 *	times, by any process. The core calls release only after @extents has returned. Must
 *	not sleep for memory.
 * @map: map the memory for @dev; replaces @extents if the provider alone can map the memory.
 *	Such regions cannot be exported. Returns the argument for @unmap, or ERR_PTR (-EIO: @dev
 *	cannot reach the memory). @dev and @sgt are valid until @unmap. The address of the region
 *	is its offset in @sgt. A revocation or unpin may come at the same time; the core then
 *	undoes the mapping. Process context, sleeps.
 * @unmap: undo a mapping made by @map. Process context, sleeps, no locks held by the caller. May
 *	come after release, unpin and cleanup, but not after free.
 * @release: give the pages back after a revocation. For revocable memory @release may run inside
 *	pp_revoke() under the GPU driver's locks. So @release must not call functions that the
 *	GPU driver forbids in its callback. No DMA mapping of @extents is left. DMA is in flight
 *	only if it exceeded drain_timeout_ms (for non-revocable memory only when the device is
 *	unbound).
 * @unpin: give the pages back at a close. The GPU driver's callback may run at the same time or
 *	may have run before; the GPU driver does not say which.
 * @cleanup: NULL, or undo the rest of @pin; may sleep. After @cleanup has returned, the provider
 *	must not revoke this region.
 * @free: NULL, or free the rest: the last call, when no @map or @unmap is in progress. Also called
 *	after a failed @pin. Any context.
 *
 * @look, @release and @unpin may be NULL.
 */
struct pp_provider {
	struct module *owner;
	const char *name;
	u32 id;
	u32 flags;
	u32 page_size;
	bool exact;
	bool page_backed;
	bool lasting;
	bool unpin_by_owner;
	unsigned int tries;
	size_t priv_size;

	int (*pin)(void *priv, const struct pp_request *req,
		   struct pp_why *why);
	int (*look)(void *priv, u64 length, u32 *caching);
	void (*extents)(void *priv, struct pp_extents *x);
	void *(*map)(void *priv, struct device *dev, struct sg_table **sgt);
	void (*unmap)(void *mapping);
	void (*release)(void *priv);
	void (*unpin)(void *priv);
	void (*cleanup)(void *priv);
	void (*free)(void *priv);
};

/* for display */
static inline const char *pp_provider_flags(const struct pp_provider *provider)
{
	if (provider->flags & PEERPIN_PIN_PCIE)
		return "persistent,pcie";
	return provider->flags & PEERPIN_PIN_PERSISTENT ? "persistent" : "-";
}

/**
 * pp_provider_register() - add a provider; -EEXIST if its @id and @flags are taken
 *
 * @id and @flags index an array without a check; provider.c has its size. Context: process.
 */
int pp_provider_register(const struct pp_provider *provider);

/**
 * pp_provider_unregister() - remove a provider, from module exit
 *
 * The provider has no regions any more, because each region holds a reference on @owner. Waits
 * until the threads inside pp_revoke() have returned from the provider's callback. So the
 * callback must not sleep after pp_revoke(). Does not wait for threads inside pp_revoke_soon().
 */
void pp_provider_unregister(const struct pp_provider *provider);

/**
 * pp_revoke() - revoke a region whose memory is being freed
 * @cookie: from struct pp_request
 *
 * Returns when no device and no CPU has a mapping of the memory. Exception: a mapping made by
 * @map is undone by a work item after its DMA has ended. The cookie of a region that no longer
 * exists is ignored, so a late callback has no effect.
 * Context: process. Waits at most drain_timeout_ms for DMA in flight, and in addition for stop()
 * of drivers, page faults, locks of an mm and, if several processors have begun DMA, a grace period
 * of RCU. Must not be called from look(), which runs under r->lock. Allocates nothing. Return: false
 * if DMA is still in flight.
 */
bool pp_revoke(unsigned long cookie);

/**
 * pp_revoke_soon() - revoke a region without waiting, because its addresses get other pages
 * @cookie: from struct pp_request
 *
 * On return the epoch has changed and no DMA begins any more. A work item asks drivers to
 * stop. Non-revocable memory stays pinned until the DMA in flight has ended; then release is
 * called. For memory mapped by @map, the caller must call pp_revoke() or pp_revoke_until() next.
 * Context: any but interrupts, does not sleep.
 */
void pp_revoke_soon(unsigned long cookie);

/*
 * pp_revoke_until() is pp_revoke() with a deadline in jiffies; pp_revoke_deadline() is the
 * deadline of a revocation that begins now. To revoke many regions by one deadline, first call
 * pp_revoke_soon() for each. Only providers in peerpin.ko can use these functions.
 */
bool pp_revoke_until(unsigned long cookie, unsigned long deadline);
unsigned long pp_revoke_deadline(void);

/*
 * For the core, with an id and flags that pp_region_check() has accepted. Both functions return
 * a provider with a reference on its module, for pp_provider_put(), or NULL. pp_provider_next()
 * walks the providers that AUTO asks for a pin with @flags; *@nth is 0 for the first call.
 */
const struct pp_provider *pp_provider_get(u32 id, u32 flags);
const struct pp_provider *pp_provider_next(u32 flags, unsigned int *nth);
void pp_provider_put(const struct pp_provider *provider);

#endif
