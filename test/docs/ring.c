// SPDX-License-Identifier: GPL-2.0
#include <linux/list.h>
#include <linux/module.h>
#include <linux/spinlock.h>
#include <peerpin.h>

struct ring {
	spinlock_t lock;
	struct list_head queued;
};

struct request {
	struct list_head link;
	struct peerpin_attach *attach;
};

static void ring_abort(struct ring *ring, struct request *r)
{
}

BLOCK

struct peerpin_peer *ring_register(struct device *dev, struct ring *ring);
struct peerpin_peer *ring_register(struct device *dev, struct ring *ring)
{
	return peerpin_peer_register(dev, &ring_ops, ring);
}

MODULE_DESCRIPTION("A block of doc/porting.md");
MODULE_LICENSE("GPL");
