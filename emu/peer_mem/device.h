/* SPDX-License-Identifier: GPL-2.0 */
/* Devices that memory is mapped for */
#ifndef IB_PEER_DEVICE_H
#define IB_PEER_DEVICE_H

#include <linux/types.h>

struct device;

/* @which: enum ib_peer_device. May return NULL (IB_PEER_NO_DEVICE); ERR_PTR(-ENODEV): not present */
struct device *shim_device(u32 which);

/* Translate a bus address of the device. @phys 0: not mapped; -ENODATA: no IOMMU */
int shim_device_look(u32 which, u64 bus, u64 *phys);

/* @node: a struct device that does no DMA */
int shim_devices_init(struct device *node);
void shim_devices_exit(void);

#endif
