/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A provider pins one kind of memory. It gets address ranges and page tables, never a
 * file or an ioctl. It gets a device only if the provider alone can map the memory (a
 * dma-buf).
 *
 * These functions are the only ones that the core exports without the GPL mark: a
 * provider may have to link with a driver that is not GPL.
 *
 * To add a provider: give it an id in enum peerpin_provider (uapi/peerpin.h), write
 * providers/NAME.c with a struct pp_provider, build it in Kbuild, and call
 * pp_provider_register() from its module's init or from main.c. provider.c has the order in
 * which AUTO asks; provider.c and pp_region_check() know the highest id, trace.h the names.
 * pp_region_check() also knows which provider takes a file descriptor; a new flag is added
 * there, to PROVIDER_KINDS and to pp_provider_flags().
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
 * @bytes: sum of their lengths
 * @last: end of the last extent
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
 * @length: multiple of it, not 0
 * @p2p_token: as in struct peerpin_pin
 * @va_space_token: as in struct peerpin_pin
 * @fd: as in struct peerpin_pin
 * @cookie: of the region, for pp_revoke(); never used twice
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
 * @flags: PEERPIN_PIN_*: the kind of pin it makes; unique together with @id
 * @page_size: bytes, a power of two of at most 1 MiB; ranges are rounded to it
 * @exact: ranges are not rounded, and refused unless they consist of such pages
 * @page_backed: memory has struct pages and is mapped by dma_map_sgtable(). Else it is a
 *	BAR and is mapped by dma_map_phys() with DMA_ATTR_MMIO
 * @lasting: pages stay pinned whatever the memory's owner does: host memory, and GPU memory
 *	of a persistent pin. Only pp_revoke_soon() revokes such a region, or the core when the
 *	device is unbound. If false, the owner may free the memory and revokes by pp_revoke()
 * @unpin_by_owner: @unpin has an effect only in the process that pinned. The core does
 *	not call it in others: the pages stay pinned until revoked
 * @priv_size: bytes of private memory for each region, zeroed, passed to all calls
 *	below and freed by the core
 *
 * The core calls these with none of its locks held, except for @look. The order is: pin;
 * look, extents or map, then release or unpin, or both at the same time if a revocation races
 * with an unpin; cleanup. A region revoked during pin gets cleanup only. unmap and free may
 * come after cleanup.
 *
 * @pin: process context of the owner; may call the GPU driver. On failure nothing
 *	is pinned. -EINVAL: not my memory, ask the next provider.
 * @look: check that the pinned pages are as expected (@length bytes, a known version of the
 *	table), and set how the CPU may map them (@caching: enum peerpin_caching, NONE
 *	before). Runs under a spinlock with interrupts off: must be quick and must not
 *	sleep. On failure the core unpins.
 * @extents: append all pinned pages to @x. NULL: the CPU cannot map them. Called any number of
 *	times, by any process. The core does not call release meanwhile. Must not sleep for
 *	memory.
 * @map: in place of @extents if the provider alone can map the memory; such regions are
 *	not exported. Maps for @dev, which stays until @unmap. Returns the argument for @unmap,
 *	or ERR_PTR. @sgt is valid until @unmap; the address of a region is an offset into it.
 *	-EIO: @dev cannot reach the memory. May race with a revocation and with unpin; the core
 *	then undoes the mapping. Process context, sleeps.
 * @unmap: process context, sleeps, no locks held by the caller. May come after release,
 *	unpin and cleanup, but not after free.
 * @release: the pages are lost to a revocation. Unless @lasting, runs in the context of
 *	pp_revoke(), so the GPU driver's locks may be held: no call that this driver forbids
 *	in its callback. No DMA mapping of @extents is left, and no DMA, except that of a
 *	driver which exceeded drain_timeout_ms (if @lasting, only when the device is unbound).
 * @unpin: give the pages back. The GPU driver's callback may run at the same time or may
 *	have run before; the GPU driver does not say which.
 * @cleanup: NULL, or undo what pin did besides pinning; may sleep. After it has returned,
 *	no revocation of this region is called.
 * @free: NULL, or the last call, when no @map is in progress any more; also after a failed
 *	@pin. Any context.
 *
 * @look, @release and @unpin may be NULL: nothing to do.
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
	return provider->flags & PEERPIN_PIN_PERSISTENT ? "persistent" : "-";
}

/**
 * pp_provider_register() - add a provider; -EEXIST if its @id and @flags are taken
 *
 * Context: process.
 */
int pp_provider_register(const struct pp_provider *provider);

/**
 * pp_provider_unregister() - remove a provider, from module exit
 *
 * It has no regions, as each holds a reference on @owner. Returns when all threads inside
 * pp_revoke() have left it and the provider's callback that called it.
 */
void pp_provider_unregister(const struct pp_provider *provider);

/**
 * pp_revoke() - revoke a region whose memory is being freed
 * @cookie: from struct pp_request
 *
 * Returns when no device and no CPU has a mapping of the memory. A mapping made by @map is
 * undone soon after; if DMA in it exceeds drain_timeout_ms, when this DMA has ended. Then
 * release or unpin is called. The cookie of a region that no longer exists is ignored, so
 * a late callback has no effect.
 * Context: process, sleeps until DMA in flight has ended, but at most drain_timeout_ms; besides
 * for the drivers' stop() calls, for page faults and for locks of an mm. Takes no lock that is
 * held around a provider call except r->lock, which is held around look(). Allocates nothing.
 * Return: false: DMA is still in flight.
 */
bool pp_revoke(unsigned long cookie);

/**
 * pp_revoke_soon() - revoke a region whose addresses get other pages
 * @cookie: from struct pp_request
 *
 * When it returns the epoch has changed and no DMA begins any more. A work item asks
 * drivers to stop. DMA in flight continues; @lasting pages stay pinned until it has ended,
 * then release is called. For memory mapped by @map, the caller must call pp_revoke() next.
 * Context: any but interrupts, does not sleep.
 */
void pp_revoke_soon(unsigned long cookie);

/*
 * pp_revoke() with a deadline in jiffies, and the deadline of a revocation that begins now.
 * For many regions with one deadline, after pp_revoke_soon() of each. Only for providers in
 * peerpin.ko.
 */
bool pp_revoke_until(unsigned long cookie, unsigned long deadline);
unsigned long pp_revoke_deadline(void);

/*
 * For the core, with ids and flags that pp_region_check() has accepted. Returns a provider
 * with a reference on its module, for pp_provider_put(), or NULL. next walks the providers
 * that AUTO asks for a pin with @flags; *@nth is 0 for the first call.
 */
const struct pp_provider *pp_provider_get(u32 id, u32 flags);
const struct pp_provider *pp_provider_next(u32 flags, unsigned int *nth);
void pp_provider_put(const struct pp_provider *provider);

#endif
