/* SPDX-License-Identifier: GPL-2.0 */
/* A peer: a device that a driver has registered. */
#ifndef _PEERPIN_PEER_H
#define _PEERPIN_PEER_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/percpu.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include "../../include/peerpin.h"

struct seq_file;

/**
 * struct pp_peer_counts - transfers on one processor; only the sum over all processors has a meaning
 * @begun: transfers that have begun
 * @transfers, @bytes: transfers that have ended
 */
struct pp_peer_counts {
	u64 begun;
	u64 transfers;
	u64 bytes;
};

/**
 * struct peerpin_peer - a registered device
 * @ref: references: one of the registration, one of each attachment
 * @name: the device's name; a copy, which outlives the device
 * @dev: the device; valid, like @ops and @data, until peerpin_peer_unregister() returns.
 *	That function waits until @users and @strays are 0
 * @lock: protects @dying, @users, @strays, @attaches and @count; taken inside a region's lock.
 *	peerpin_dma_begin() reads @dying without @lock. That is safe, because the thread that
 *	sets @dying takes the region's lock of each attachment afterwards
 * @users: number of threads that map, unmap or call stop(); peerpin_peer_unregister() waits
 *	until 0
 * @strays: number of unlisted attachments with DMA in flight
 * @attaches, @count: the listed attachments, and their number. Counting 100,000 attachments in a walk would
 *	hold @lock for milliseconds, with interrupts off
 * @counts: counts of transfers, one set for each processor
 * @timeouts: waits for DMA that exceeded drain_timeout_ms while this peer had DMA in flight
 * @in_peers: entry in the list of all peers
 * @idle: woken when @users, @strays, or, once @dying, the @inflight of an attachment falls to 0
 */
struct peerpin_peer {
	struct kref ref;
	const char *name;
	struct device *dev;
	const struct peerpin_peer_ops *ops;
	void *data;
	spinlock_t lock;
	bool dying;
	unsigned int users;
	unsigned int strays;
	struct list_head attaches;
	unsigned int count;
	struct list_head in_peers;
	struct pp_peer_counts __percpu *counts;
	atomic64_t timeouts;
	wait_queue_head_t idle;
};

void pp_peer_put(struct peerpin_peer *peer);

/*
 * Become a user, so that @dev and the driver stay; -ENODEV: the peer is being unregistered. Any context. But
 * pp_peer_leave() enables interrupts: process context.
 */
int pp_peer_enter(struct peerpin_peer *peer);
void pp_peer_leave(struct peerpin_peer *peer);

/*
 * Count a transfer that has begun, and again just before the transfer ends. Uses no lock and no shared
 * cache line, because all processors count their transfers here.
 */
static inline void pp_peer_count_begun(struct peerpin_peer *peer)
{
	this_cpu_inc(peer->counts->begun);
}

static inline void pp_peer_count_ended(struct peerpin_peer *peer, u64 bytes)
{
	this_cpu_inc(peer->counts->transfers);
	this_cpu_add(peer->counts->bytes, bytes);
}

/* print "DEVICE TRANSFERS BYTES INFLIGHT" of each registered peer; process context */
void pp_peers_show(struct seq_file *m);

/*
 * print "transfers N" and "transfer_bytes N" of all peers since the module was loaded, then
 * "peer DEVICE TRANSFERS BYTES TIMEOUTS" of each registered peer; process context
 */
void pp_peers_show_counts(struct seq_file *m);

#endif
