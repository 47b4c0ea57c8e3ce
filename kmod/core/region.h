/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A region: pinned memory and the state machine that ends it.
 *
 *	PINNING -> LIVE -> REVOKED (by the memory's owner)
 *	                -> CLOSED  (by unpin, close, failure)
 *
 * The first to leave LIVE (or PINNING) *quiesces* the region: the epoch word
 * dies, new DMA is refused, drivers are asked to stop, DMA in flight is waited
 * for, device mappings are dropped. Whoever else wants the region ended waits
 * for that. Only then do the pages go, by release (revoked) or unpin (closed).
 * doc/lifetimes.md has the argument.
 */
#ifndef _PEERPIN_REGION_H
#define _PEERPIN_REGION_H

#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include "provider.h"

enum pp_region_state {
	PP_PINNING,
	PP_LIVE,
	PP_REVOKED,
	PP_CLOSED,
};

/**
 * struct pp_region - one pin
 * @ref: the id table, each lookup and each attachment hold one
 * @rcu: lookups by cookie walk under RCU
 * @lock: protects @state, @pinned, @users, @inflight, @attaches and the
 *	counts in the attachments listed there; taken in interrupts; innermost
 *	but for a peer's lock
 * @users: the core's own: maps and unmaps in progress, reading the page
 *	table. Quiescing waits for them; they depend on nobody.
 * @inflight: DMA begun by drivers and not ended. Quiescing waits for it, but
 *	for drain_timeout_ms only.
 * @idle: woken when @users or @inflight falls to 0
 * @quiesced: no DMA and no device mapping is left, for ever
 * @pinned: @provider's pages are readable through extents
 * @epoch: its word in the revocation page; valid until @quiesced
 * @pin_epoch: what it says while the region lives
 * @priv: the provider's
 */
struct pp_region {
	struct kref ref;
	struct rcu_head rcu;
	spinlock_t lock;
	enum pp_region_state state;
	bool pinned;
	unsigned int users;
	unsigned int inflight;
	wait_queue_head_t idle;
	struct completion quiesced;
	struct list_head attaches;
	const struct pp_provider *provider;
	u32 *epoch;
	u32 pin_epoch;
	struct pp_extents extents;
	u64 addr;
	u64 length;
	ktime_t since;
	unsigned long cookie;
	void *priv[];
};

/**
 * pp_region_pin() - make a region
 * @provider: held by the caller; the region takes its own hold
 * @want: the range as the user gave it, checked for overflow; not yet rounded
 * @epoch: dead word, made live here
 * @why: filled in on failure
 *
 * Context: process. Return: the region with one reference, to be ended with
 * pp_region_close(), or ERR_PTR with @epoch dead again.
 */
struct pp_region *pp_region_pin(const struct pp_provider *provider,
				const struct pp_request *want, u32 *epoch,
				struct pp_why *why);

/**
 * pp_region_close() - end a region and give its pages back
 *
 * Consumes the reference of pp_region_pin(). Context: process, no locks.
 */
void pp_region_close(struct pp_region *r);

void pp_region_put(struct pp_region *r);

/**
 * pp_region_enter() - become a user, which keeps the pages
 *
 * Return: 0, to be undone by pp_region_leave() soon and without waiting for a
 * driver or a provider, or -ESTALE. Any context.
 */
int pp_region_enter(struct pp_region *r);
void pp_region_leave(struct pp_region *r);

bool pp_region_is_live(struct pp_region *r);

/* waits until no region is being revoked; from unregistering a provider */
void pp_region_barrier(void);

#endif
