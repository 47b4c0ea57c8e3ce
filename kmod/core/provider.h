/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A provider pins one kind of memory. It sees address ranges and page tables,
 * never a file, an ioctl or a device.
 *
 * The functions here are exported without the GPL mark, as the only ones of
 * the core, because a provider may have to link with a driver that is not.
 */
#ifndef _PEERPIN_PROVIDER_H
#define _PEERPIN_PROVIDER_H

#include <linux/list.h>
#include <linux/types.h>
#include "../uapi/peerpin.h"

struct module;

/** struct pp_extent - physically contiguous pinned memory */
struct pp_extent {
	phys_addr_t phys;
	u64 length;
};

/** struct pp_extents - a growing list of them, merged as it grows */
struct pp_extents {
	struct pp_extent *at;
	unsigned int count;
	unsigned int room;	/* for each page of the region */
	u64 bytes;		/* added so far, those without room included */
};

/** pp_extents_add() - append a page; merges with the last when it continues it */
void pp_extents_add(struct pp_extents *x, phys_addr_t phys, u64 length);

/**
 * struct pp_request - what a provider is asked to pin
 * @addr: multiple of the provider's page size
 * @length: multiple of it, not 0
 * @p2p_token: as in struct peerpin_pin
 * @va_space_token: as in struct peerpin_pin
 * @cookie: names the region to pp_revoke(); never used twice
 */
struct pp_request {
	u64 addr;
	u64 length;
	u64 p2p_token;
	u32 va_space_token;
	unsigned long cookie;
};

/** struct pp_why - where a failing @pin says more than an errno */
struct pp_why {
	u32 reason;	/* enum peerpin_reason */
	u64 needed;	/* bytes it speaks of, or 0 */
};

/**
 * struct pp_provider - const description of a provider
 * @owner: module that must stay while regions of it exist
 * @name: for people
 * @id: enum peerpin_provider
 * @page_size: bytes; ranges are rounded to it
 * @page_backed: memory has struct pages, takes dma_map_sg(), and what is
 *	pinned stays pinned whatever its owner does: revoked by
 *	pp_revoke_soon(). Else it is a BAR, takes dma_map_resource(), and is gone
 *	when its owner says so: revoked by pp_revoke()
 * @unpin_by_owner: @unpin has an effect only in the process that pinned.
 *	Elsewhere the core does not call it: the pages stay until revoked
 * @priv_size: bytes of private memory for each region, zeroed, handed to all
 *	calls below and freed by the core
 *
 * The core calls these with no lock held (release: see below), in this order:
 * pin; extents, unless revoked before; then release or unpin or, when the two
 * race, both at the same time; cleanup last. extents must not sleep for memory.
 *
 * @pin: process context of the owner; may call the vendor. On failure nothing
 *	is pinned. -EINVAL: not my memory, ask the next provider.
 * @extents: append the pinned pages to @x. The core guarantees that release
 *	does not run meanwhile.
 * @release: the pages go because their owner took them. For a BAR in the
 *	context of pp_revoke(), so the vendor's locks may be held: no call that
 *	the vendor forbids in its callback. No DMA mapping is left, and no DMA but
 *	that of a driver that was overruled (a BAR's only).
 * @unpin: give the pages back. The vendor's callback may run, or have run,
 *	just then; the vendor tells nobody.
 * @cleanup: NULL, or undo what pin did besides pinning; may sleep. No
 *	revocation of this region is called when it has returned.
 */
struct pp_provider {
	struct module *owner;
	const char *name;
	u32 id;
	u32 page_size;
	bool page_backed;
	bool unpin_by_owner;
	size_t priv_size;

	int (*pin)(void *priv, const struct pp_request *req,
		   struct pp_why *why);
	int (*extents)(void *priv, struct pp_extents *x);
	void (*release)(void *priv);
	void (*unpin)(void *priv);
	void (*cleanup)(void *priv);
};

/**
 * pp_provider_register() - offer a provider; -EEXIST when its id is taken
 *
 * Context: process.
 */
int pp_provider_register(const struct pp_provider *provider);

/**
 * pp_provider_unregister() - withdraw it, from module exit
 *
 * No region of it exists (they hold @owner). Returns when no thread is inside
 * pp_revoke() any more, so that a callback which ends in the provider's module
 * has ended too.
 */
void pp_provider_unregister(const struct pp_provider *provider);

/**
 * pp_revoke() - the owner of BAR memory takes it back
 * @cookie: from struct pp_request
 *
 * Returns when no device has a mapping of the memory. A cookie whose region is
 * gone is ignored: that is how a late callback ends.
 * Context: process, sleeps for as long as DMA in flight takes, at most
 * drain_timeout_ms, and the drivers' stop() calls; takes no lock that is ever
 * held around a provider call, and allocates nothing.
 */
void pp_revoke(unsigned long cookie);

/**
 * pp_revoke_soon() - page-backed memory does not mean its address any more
 * @cookie: from struct pp_request
 *
 * From its return no DMA begins and the epoch says so. DMA in flight goes on in
 * pages that stay pinned until it has ended; then release is called.
 * Context: any, does not sleep.
 */
void pp_revoke_soon(unsigned long cookie);

/*
 * For the core. A provider is returned with its module held, to be given back
 * with pp_provider_put(). next walks those that AUTO asks, from *@nth = 0.
 */
const struct pp_provider *pp_provider_get(u32 id);
const struct pp_provider *pp_provider_next(unsigned int *nth);
void pp_provider_put(const struct pp_provider *provider);

#endif
