/* SPDX-License-Identifier: GPL-2.0 */
/* A umem: memory of a client that a device uses, step by step */
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
 * @mapping: an invalidation takes it; a semaphore, because different threads may make the steps
 *	that lock and unlock it
 * @dma: held during DMA of the device, and to change @usable
 * @state: steps made so far; an invalidation does not change it
 * @mapped: under @mapping: dma_unmap and put_pages must still be called
 * @active: under @mapping: the device's driver can be invalidated
 * @usable: under @dma: the device may use the memory
 * @unmapping: from STOP on: UNMAP and PUT make these calls, not an invalidation
 * @unlocked: likewise, without @mapping
 * @client: NULL after release
 * @cut_head: bytes cut from the first entry, which begins before the first page of the range
 * @cut_tail: likewise, from the last
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

/* @arg->op: REGISTER to RELEASE; -EINVAL: another op, or out of order */
int shim_umem_step(struct shim_umem *u, const struct ib_peer *arg);

/* Make the remaining steps. */
void shim_umem_end(struct shim_umem *u);

void shim_umem_invalidate(struct shim_umem *u);

#endif
