/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A region: pinned memory and the state machine that ends it.
 *
 *	PINNING -> LIVE -> REVOKED (by the memory's owner)
 *	                -> CLOSED  (by unpin, close, failure)
 *
 * Leaving LIVE kills the epoch word and refuses new DMA, at once and once.
 * Then drivers are asked to stop, DMA in flight is waited for, mappings are
 * dropped, and only then the pages go: by release (revoked) or unpin (closed).
 * Every step may be taken by several threads at a time; each does its part
 * exactly once. doc/lifetimes.md has the argument.
 */
#ifndef _PEERPIN_REGION_H
#define _PEERPIN_REGION_H

#include <linux/kref.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include "provider.h"

enum pp_region_state {
	PP_PINNING,
	PP_LIVE,
	PP_REVOKED,
	PP_CLOSED,
};

/**
 * struct pp_region - one pin
 * @ref: the cookie table (from pin to destruction), each lookup, each
 *	attachment and the queued @work hold one
 * @rcu: lookups by cookie walk under RCU
 * @lock: protects @state, @pinned, @orphan, @users, @inflight, @maps, @attaches
 *	and the counts in the attachments listed there; taken in interrupts;
 *	innermost but for a peer's lock
 * @users: the core's own: maps and unmaps in progress, reading the page table
 *	or @extents, releasing. They wait for nobody and allocate no memory that could.
 * @inflight: DMA begun by drivers and not ended
 * @maps: attachments ever listed
 * @idle: woken when @users or @inflight falls to 0
 * @pinned: the pages are ours; who clears it gives them back
 * @orphan: its user is gone but the pages are not; who gives them back
 *	destroys it too
 * @work: ends it where waiting for drivers is not possible
 * @epoch: its word in the revocation page; valid until the state has ended
 * @pin_epoch: what it says while the region lives
 * @owner: process that pinned it
 * @priv: the provider's
 */
struct pp_region {
	struct kref ref;
	struct rcu_head rcu;
	spinlock_t lock;
	enum pp_region_state state;
	bool pinned;
	bool orphan;
	unsigned int users;
	unsigned int inflight;
	unsigned int maps;
	wait_queue_head_t idle;
	struct work_struct work;
	struct list_head attaches;
	const struct pp_provider *provider;
	u32 *epoch;
	u32 pin_epoch;
	struct pid *owner;
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
 * Context: process. Return: the region, to be ended with pp_region_close(), or
 * ERR_PTR with @epoch dead again.
 */
struct pp_region *pp_region_pin(const struct pp_provider *provider,
				const struct pp_request *want, u32 *epoch,
				struct pp_why *why);

/**
 * pp_region_close() - end a region and give its pages back
 *
 * Once, and nobody uses it by what pp_region_pin() returned afterwards. Waits
 * for DMA in flight, but not for a driver that does not end it: then, and where
 * the pages can be given back in their owner's process only, they stay pinned
 * until the DMA ends or their owner revokes them.
 * Context: process, no locks.
 */
void pp_region_close(struct pp_region *r);

void pp_region_get(struct pp_region *r);
void pp_region_put(struct pp_region *r);

/**
 * pp_region_enter() - become a user, which keeps the pages
 *
 * Return: 0, to be undone by pp_region_leave() soon and without waiting for a
 * driver, a provider or memory, or -ESTALE. Any context.
 */
int pp_region_enter(struct pp_region *r);
void pp_region_leave(struct pp_region *r);

/* @inflight has fallen to 0; under @lock, any context */
void pp_region_idle_locked(struct pp_region *r);

bool pp_region_is_live(struct pp_region *r);

/* waits until no region is being revoked; from unregistering a provider */
void pp_region_barrier(void);

int pp_region_init(void);
void pp_region_exit(void);

#endif
