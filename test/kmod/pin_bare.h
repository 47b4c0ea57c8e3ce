/* SPDX-License-Identifier: MIT */
/*
 * /dev/pin_bare: the baseline for pinning. It measures nvidia_p2p_get_pages() and
 * nvidia_p2p_put_pages() in the process that owns the memory, without peerpin.
 */
#ifndef PIN_BARE_H
#define PIN_BARE_H

#include <linux/ioctl.h>
#include <linux/types.h>

/**
 * struct pin_bare - PIN_BARE_IOC
 * @addr: address of GPU memory of the caller, a multiple of 64 KiB
 * @length: length, a multiple of 64 KiB
 * @count: number of pins and unpins
 * @out_ns: kernel time of all pins and unpins
 */
struct pin_bare {
	__aligned_u64 addr;
	__aligned_u64 length;
	__aligned_u64 count;
	__aligned_u64 out_ns;
};

#define PIN_BARE_IOC _IOWR(0xBC, 0x10, struct pin_bare)

#endif
