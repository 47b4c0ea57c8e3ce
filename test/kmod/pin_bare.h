/* SPDX-License-Identifier: MIT */
/*
 * /dev/pin_bare: the yardstick for pinning. What nvidia_p2p_get_pages() and
 * nvidia_p2p_put_pages() take by themselves, called in the process that owns
 * the memory, with nothing of peerpin in the way.
 */
#ifndef PIN_BARE_H
#define PIN_BARE_H

#include <linux/ioctl.h>
#include <linux/types.h>

/**
 * struct pin_bare - PIN_BARE_IOC
 * @addr: GPU memory of the caller, a multiple of 64 KiB
 * @length: likewise
 * @count: how often to pin and unpin it
 * @out_ns: what all of that took in the kernel
 */
struct pin_bare {
	__aligned_u64 addr;
	__aligned_u64 length;
	__aligned_u64 count;
	__aligned_u64 out_ns;
};

#define PIN_BARE_IOC _IOWR(0xBC, 0x10, struct pin_bare)

#endif
