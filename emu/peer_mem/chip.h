/* SPDX-License-Identifier: GPL-2.0 */
/* An LSI 53C895A in the place of an InfiniBand adapter: it copies between MRs. */
#ifndef IB_PEER_CHIP_H
#define IB_PEER_CHIP_H

#include <linux/types.h>

struct device;

/* NULL: there is none */
struct device *shim_chip_device(void);

/* Bus addresses; -EBUSY the chip has another driver; -EIO */
int shim_chip_move(u64 to, u64 from, u32 length);

int shim_chip_init(void);
void shim_chip_exit(void);

#endif
