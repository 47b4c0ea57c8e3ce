/* SPDX-License-Identifier: GPL-2.0 */
/* A device that registrations are mapped for: one peer of the core's, counted. */
#ifndef _PEERPIN_IBPEER_DEVICE_H
#define _PEERPIN_IBPEER_DEVICE_H

#include <peerpin.h>

struct ibpeer_device;

/**
 * ibpeer_device_get() - the device of a registration, found again or made
 * @dev: as the InfiniBand core has it: NULL where there is none
 * @ops: of the peer
 *
 * Context: process, sleeps for memory. Return: to be given back with
 * ibpeer_device_put(), or ERR_PTR: -EOPNOTSUPP it does no DMA; -ENOMEM.
 */
struct ibpeer_device *ibpeer_device_get(struct device *dev,
					const struct peerpin_peer_ops *ops);

/* the last one waits until no stop() of the device is under way */
void ibpeer_device_put(struct ibpeer_device *d);

struct peerpin_peer *ibpeer_device_peer(const struct ibpeer_device *d);

#endif
