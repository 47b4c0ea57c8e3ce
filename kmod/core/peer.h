/* SPDX-License-Identifier: GPL-2.0 */
/* A peer: a device that a driver has registered. */
#ifndef _PEERPIN_PEER_H
#define _PEERPIN_PEER_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include "../include/peerpin.h"

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
	wait_queue_head_t idle;
};

void pp_peer_put(struct peerpin_peer *peer);

/* become a user: @dev and the driver stay; -ENODEV when it is going away */
int pp_peer_enter(struct peerpin_peer *peer);
void pp_peer_leave(struct peerpin_peer *peer);

#endif
