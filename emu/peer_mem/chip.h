/* SPDX-License-Identifier: GPL-2.0 */
/* An LSI 53C895A copies between MRs, in place of an InfiniBand adapter. */
#ifndef IB_PEER_CHIP_H
#define IB_PEER_CHIP_H

#include <linux/types.h>

struct device;

/* The chip's device, or NULL if not present */
struct device *shim_chip_device(void);

/* Copies by DMA. @to, @from: bus addresses. Errors: -EBUSY: another driver is bound to the chip; -EIO. */
int shim_chip_move(u64 to, u64 from, u32 length);

int shim_chip_init(void);
void shim_chip_exit(void);

#endif
