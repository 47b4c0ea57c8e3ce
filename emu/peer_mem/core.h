/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory of the clients, for the driver of an adapter. MLNX_OFED's core has the same calls, as
 * ib_umem_get_peer(), ib_umem_activate_invalidation_notifier() and ib_umem_release().
 */
#ifndef IB_PEER_CORE_H
#define IB_PEER_CORE_H

#include <linux/types.h>

struct device;
struct shim_umem;
struct sg_table;

/*
 * Map memory that a client knows for DMA of @dev. Until ib_peer_umem_activate() or the release, an
 * invalidation waits, at most five seconds. Context: process; may sleep. Return: ERR_PTR(-ENXIO): no
 * client takes the range; or the client's error
 */
struct shim_umem *ib_peer_umem_get(struct device *dev, u64 start, u64 length);

/* Bus addresses of the whole CPU pages of the range; valid until the invalidation or the release */
struct sg_table *ib_peer_umem_table(struct shim_umem *u);

/*
 * The device may use the memory afterwards, until @stop is called: the client ends the mapping. @stop ends
 * the DMA of the device before it returns. It may be called twice, and before this call returns. It must
 * not call ib_peer_umem_release(). Context: process
 */
void ib_peer_umem_activate(struct shim_umem *u, void (*stop)(void *context), void *context);

/* @stop is not called any more, and does not run. The device has ended its DMA. */
void ib_peer_umem_release(struct shim_umem *u);

#endif
