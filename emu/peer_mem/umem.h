/* SPDX-License-Identifier: GPL-2.0 */
/* A umem: memory of a client in use by a device, step by step. */
#ifndef IB_PEER_UMEM_H
#define IB_PEER_UMEM_H

#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/scatterlist.h>
#include <linux/semaphore.h>
#include "client.h"
#include "ib_peer_shim.h"

/**
 * struct shim_umem - one registration
 * @steps: serialises the steps
 * @mapping: what an invalidation waits for; a semaphore because the steps of one
 *	that holds it may be several threads'
 * @dma: held by who has the device use it, and to end that
 * @state: the steps that were made, whatever an invalidation did
 * @mapped: under @mapping: dma_unmap and put_pages are to be called
 * @active: under @mapping: the device's driver can be told
 * @usable: under @dma: the device may use it
 * @unmapping: from STOP on: these calls are ours to make
 * @unlocked: and without @mapping
 * @client: NULL when it was released
 * @cut_head: bytes that the first entry was cut by, because it begins before the range's page
 * @cut_tail: likewise, of the last
 */
struct shim_umem {
	struct kref ref;
	struct mutex steps;
	struct semaphore mapping;
	struct mutex dma;
	struct shim_client *client;
	void *context;
	unsigned long addr;
	size_t length;
	u32 flags;
	u32 id;
	bool named;
	enum ib_peer_state state;
	bool mapped;
	bool active;
	bool usable;
	bool unmapping;
	bool unlocked;
	struct device *dev;
	struct sg_table sgt;
	u64 cut_head;
	u64 cut_tail;
	atomic_t invalidated;
	atomic_t told;
	atomic_t overdue;
	atomic_t unmaps;
	atomic_t puts;
};

struct shim_umem *shim_umem_new(void);
void shim_umem_get(struct shim_umem *u);
void shim_umem_put(struct shim_umem *u);

/* enum ib_peer_op from REGISTER to RELEASE; -EINVAL others, and out of order */
int shim_umem_step(struct shim_umem *u, const struct ib_peer *arg);

/* the steps that are left */
void shim_umem_end(struct shim_umem *u);

void shim_umem_invalidate(struct shim_umem *u);

#endif
