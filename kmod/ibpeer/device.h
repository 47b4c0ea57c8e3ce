/* SPDX-License-Identifier: GPL-2.0 */
/* A device for which registrations are mapped: one peer of peerpin.ko, with a reference count. */
#ifndef _PEERPIN_IBPEER_DEVICE_H
#define _PEERPIN_IBPEER_DEVICE_H

#include <peerpin.h>

struct ibpeer_device;

/**
 * ibpeer_device_get() - find or make the device of a registration
 * @dev: from the InfiniBand core; NULL for an RDMA device in software
 * @ops: callbacks of the peer
 *
 * Context: process, sleeps for memory. Return: a reference for ibpeer_device_put(), or ERR_PTR:
 * -EOPNOTSUPP the device does no DMA; -ENOMEM.
 */
struct ibpeer_device *ibpeer_device_get(struct device *dev,
					const struct peerpin_peer_ops *ops);

/* drop a reference; the last call unregisters the peer and waits for its running stop() calls */
void ibpeer_device_put(struct ibpeer_device *d);

struct peerpin_peer *ibpeer_device_peer(const struct ibpeer_device *d);

#endif
