/* SPDX-License-Identifier: GPL-2.0 */
/* The devices that memory is mapped for. */
#ifndef IB_PEER_DEVICE_H
#define IB_PEER_DEVICE_H

#include <linux/types.h>

struct device;

/* of enum ib_peer_device; NULL is one of them; ERR_PTR(-ENODEV) it is not there */
struct device *shim_device(u32 which);

/* where an address on its bus leads: 0 nowhere; -ENODATA nothing translates them */
int shim_device_look(u32 which, u64 bus, u64 *phys);

/* @node: a struct device that does no DMA */
int shim_devices_init(struct device *node);
void shim_devices_exit(void);

#endif
