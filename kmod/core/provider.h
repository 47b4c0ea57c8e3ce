/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A provider pins one kind of memory. It sees address ranges and page tables,
 * never a file or an ioctl; and a device only when memory cannot be mapped but
 * by its owner (a dma-buf).
 *
 * The functions here are exported without the GPL mark, as the only ones of
 * the core, because a provider may have to link with a driver that is not.
 */
#ifndef _PEERPIN_PROVIDER_H
#define _PEERPIN_PROVIDER_H

#include <linux/list.h>
#include <linux/types.h>
#include "../uapi/peerpin.h"

struct device;
struct module;
struct sg_table;

/** struct pp_extent - physically contiguous pinned memory */
struct pp_extent {
	phys_addr_t phys;
	u64 length;
};

/**
 * struct pp_extents - a list of them, merged as it grows
 * @at: the extents
 * @room: how many fit; what comes after is counted only
 * @count: how many there are
 * @bytes: in all of them
 * @last: the end of the last one
 */
struct pp_extents {
	struct pp_extent *at;
	u32 room;
	u32 count;
	u64 bytes;
	phys_addr_t last;
};

/** pp_extents_add() - append memory; merges with the last when it continues it. May sleep */
void pp_extents_add(struct pp_extents *x, phys_addr_t phys, u64 length);

/**
 * struct pp_request - what a provider is asked to pin
 * @addr: multiple of the provider's page size
 * @length: multiple of it, not 0
 * @p2p_token: as in struct peerpin_pin
 * @va_space_token: as in struct peerpin_pin
 * @fd: as in struct peerpin_pin
 * @cookie: names the region to pp_revoke(); never used twice
 */
struct pp_request {
	u64 addr;
	u64 length;
	u64 p2p_token;
	u32 va_space_token;
	int fd;
	unsigned long cookie;
};

/** struct pp_why - where a failing @pin says more than an errno */
struct pp_why {
	u32 reason;	/* enum peerpin_reason */
	u64 needed;	/* bytes it speaks of, or 0 */
	u64 available;	/* bytes there were of what it speaks of; 0 also when not known */
};

/**
 * struct pp_provider - const description of a provider
 * @owner: module that must stay while regions of it exist
 * @name: for people
 * @id: enum peerpin_provider
 * @flags: PEERPIN_PIN_*: the kind of pin it makes; with @id it is unique
 * @page_size: bytes; ranges are rounded to it
 * @exact: they are not, but must consist of such pages
 * @page_backed: memory has struct pages and takes dma_map_sg(). Else it is a
 *	BAR and takes dma_map_phys() with DMA_ATTR_MMIO
 * @lasting: what is pinned stays pinned whatever its owner does: never revoked,
 *	or by pp_revoke_soon(), or by the core when its device goes. Else it is
 *	gone when its owner says so, and is revoked by pp_revoke()
 * @unpin_by_owner: @unpin has an effect only in the process that pinned.
 *	Elsewhere the core does not call it: the pages stay until revoked
 * @priv_size: bytes of private memory for each region, zeroed, handed to all calls
 *	below and freed by the core
 *
 * The core calls these with no lock held (look and release: see below), in this order:
 * pin; look, extents or map, unless revoked before; then release or unpin or, when
 * the two race, both, at the same time; cleanup last.
 *
 * @pin: process context of the owner; may call the vendor. On failure nothing
 *	is pinned. -EINVAL: not my memory, ask the next provider.
 * @look: is what was pinned as expected (@length bytes, of a version that we
 *	know), and how may the CPU map it (@caching: enum peerpin_caching, NONE
 *	before)? Under a lock that interrupts take too: quick, and takes none that
 *	interrupts do not. On failure the core unpins.
 * @extents: append the pinned pages to @x, @length bytes in all; any
 *	number of times, by any process. The core guarantees that release does not
 *	run meanwhile. Must not sleep for memory
 * @map: instead of @extents where only the owner of the memory can map it: for
 *	@dev, which stays until @unmap. Returns what @unmap takes, or ERR_PTR; @sgt
 *	is valid in between, and lists all that addresses of regions count in. A
 *	@dev that cannot reach it: -EIO. May race with a revocation, and with
 *	unpin: the core then undoes it. Process context, sleeps.
 * @unmap: process context, sleeps, no lock of anybody's held. May come after
 *	release, unpin and cleanup, not after free.
 * @release: the pages go because their owner took them. Where not @lasting in
 *	the context of pp_revoke(), so the vendor's locks may be held: no call that
 *	the vendor forbids in its callback. Of what @extents listed no DMA mapping
 *	is left, and no DMA but that of a driver that was overruled (never where
 *	@lasting, but when its device goes).
 * @unpin: give the pages back. The vendor's callback may run, or have run,
 *	just then; the vendor tells nobody.
 * @cleanup: NULL, or undo what pin did besides pinning; may sleep. No
 *	revocation of this region is called when it has returned.
 * @free: NULL, or the very last call, when no @map is under way any more; also
 *	after a failed @pin. Any context.
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

/* for people */
static inline const char *pp_provider_flags(const struct pp_provider *provider)
{
	return provider->flags & PEERPIN_PIN_PERSISTENT ? "persistent" : "-";
}

/**
 * pp_provider_register() - offer a provider; -EEXIST when there is one like it
 *
 * Context: process.
 */
int pp_provider_register(const struct pp_provider *provider);

/**
 * pp_provider_unregister() - withdraw it, from module exit
 *
 * No region of it exists (they hold @owner). Returns when all threads that were
 * inside pp_revoke() have left it, so that a callback which ends in the
 * provider's module has ended too.
 */
void pp_provider_unregister(const struct pp_provider *provider);

/**
 * pp_revoke() - the owner of memory takes it back
 * @cookie: from struct pp_request
 *
 * Returns when no device and no CPU has a mapping of the memory. One made by
 * @map goes soon after, or, where a driver has not ended its DMA in time, when it
 * does; then release or unpin is called. A cookie whose region is gone is ignored:
 * that is how a late callback ends.
 * Context: process, sleeps for as long as DMA in flight takes, at most
 * drain_timeout_ms, and the drivers' stop() calls; takes no lock that is ever
 * held around a provider call, and allocates nothing.
 * Return: false: DMA is in flight still.
 */
bool pp_revoke(unsigned long cookie);

/**
 * pp_revoke_soon() - memory does not mean its address any more
 * @cookie: from struct pp_request
 *
 * From its return no DMA begins and the epoch says so; a work item asks drivers to
 * stop. DMA in flight goes on in lasting pages, which stay pinned until it has
 * ended; then release is called. Of what @map maps pp_revoke() has to follow.
 * Context: any but interrupts, does not sleep.
 */
void pp_revoke_soon(unsigned long cookie);

/*
 * pp_revoke() of one region of many that go together, after pp_revoke_soon() of each,
 * and of when all have had their time, in jiffies. For providers in peerpin.ko.
 */
bool pp_revoke_until(unsigned long cookie, unsigned long deadline);
unsigned long pp_revoke_deadline(void);

/*
 * For the core, with ids and flags that pp_region_check() has let through. A
 * provider is returned with its module held, to be given back
 * with pp_provider_put(). next walks those that AUTO asks for pins of the kind
 * @flags, from *@nth = 0.
 */
const struct pp_provider *pp_provider_get(u32 id, u32 flags);
const struct pp_provider *pp_provider_next(u32 flags, unsigned int *nth);
void pp_provider_put(const struct pp_provider *provider);

#endif
