/* SPDX-License-Identifier: GPL-2.0 */
/* The devices for which memory is mapped */
#ifndef IB_PEER_DEVICE_H
#define IB_PEER_DEVICE_H

#include <linux/types.h>

struct device;

/* The device of @which (enum ib_peer_device). NULL for IB_PEER_NO_DEVICE; ERR_PTR(-ENODEV): not present */
struct device *shim_device(u32 which);

/* Translates bus address @bus of the device to *@phys; 0: not mapped. Returns -ENODATA if there is no IOMMU. */
int shim_device_look(u32 which, u64 bus, u64 *phys);

/* @node: struct device of the device file, which does no DMA, for IB_PEER_SOFTWARE */
int shim_devices_init(struct device *node);
void shim_devices_exit(void);

#endif
