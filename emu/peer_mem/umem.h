/* SPDX-License-Identifier: GPL-2.0 */
/* A umem: a range of a client's memory that a device uses; made and ended step by step */
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
 * @mapping: lock that an invalidation takes; a semaphore, because the step that unlocks it may run in
 *	another thread than the step that locks it
 * @dma: held during DMA of the device, and to change @usable
 * @state: the last step made; an invalidation does not change the state
 * @stop: ends DMA of the adapter; called by an invalidation, before dma_unmap. NULL: the node, which
 *	tests @usable instead
 * @mapped: dma_unmap and put_pages must still be called; under @mapping
 * @active: the device's driver can be invalidated; under @mapping
 * @usable: the device may use the memory; under @dma
 * @unmapping: from STOP on: the steps UNMAP and PUT call dma_unmap and put_pages, not an invalidation
 * @unlocked: from STOP on: the steps UNMAP and PUT run without @mapping
 * @client: client of the memory; NULL after release
 * @cut_head: bytes cut from the first entry of @sgt, which begins before the first CPU page of the range
 * @cut_tail: bytes cut from the last entry of @sgt, likewise
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
	void (*stop)(void *context);
	void *stop_context;
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

/* Makes the step @arg->op, from REGISTER to RELEASE. Returns -EINVAL for another op, or a step out of order. */
int shim_umem_step(struct shim_umem *u, const struct ib_peer *arg);

/* Makes the remaining steps. */
void shim_umem_end(struct shim_umem *u);

void shim_umem_invalidate(struct shim_umem *u);

#endif
