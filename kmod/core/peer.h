/* SPDX-License-Identifier: GPL-2.0 */
/* A peer: a device that a driver has registered. */
#ifndef _PEERPIN_PEER_H
#define _PEERPIN_PEER_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/percpu.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include "../include/peerpin.h"

struct seq_file;

/** struct pp_peer_counts - transfers that have ended, on one processor */
struct pp_peer_counts {
	u64 transfers;
	u64 bytes;
};

/**
 * struct peerpin_peer - see above
 * @ref: the registration and each attachment hold one
 * @name: the device's, which may be gone
 * @dev: valid until peerpin_peer_unregister() returns, like the driver's ops;
 *	used by whoever is a user or has DMA in flight
 * @lock: protects @dying, @users and @attaches; inside a region's lock.
 *	Beginning DMA reads @dying without it: who sets it then goes through
 *	every attachment under its region's lock
 * @users: maps, unmaps and stop() calls in progress; unregistering waits
 * @inflight: DMA begun and not ended, on listed attachments or not
 * @counts: of the transfers that have ended; each processor writes its own
 * @in_peers: in the list of all, which holds the registration's reference
 * @idle: woken when @users or a count of DMA in flight falls to 0
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
	atomic_t inflight;
	struct list_head attaches;
	struct list_head in_peers;
	struct pp_peer_counts __percpu *counts;
	wait_queue_head_t idle;
};

void pp_peer_put(struct peerpin_peer *peer);

/* become a user: @dev and the driver stay; -ENODEV when it is going away */
int pp_peer_enter(struct peerpin_peer *peer);
void pp_peer_leave(struct peerpin_peer *peer);

/*
 * A transfer has ended; from within it. In no shared line and without a lock:
 * this is on the way of every transfer of every processor.
 */
static inline void pp_peer_count(struct peerpin_peer *peer, u64 bytes)
{
	this_cpu_inc(peer->counts->transfers);
	this_cpu_add(peer->counts->bytes, bytes);
}

/* "DEVICE TRANSFERS BYTES INFLIGHT" of each that is registered; process context */
void pp_peers_show(struct seq_file *m);

#endif
