/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * /dev/eduN: QEMU's edu device copies memory that the caller has pinned on
 * /dev/peerpin, by way of its buffer.
 */
#ifndef _UAPI_EDU_H
#define _UAPI_EDU_H

#include <linux/ioctl.h>
#include <linux/types.h>

enum {
	EDU_BUFFER_BYTES = 4092,	/* of 4096: QEMU 7.2 ends on a move that reaches the last */
};

/**
 * struct edu_place - where one end of a copy begins
 * @fd: file of /dev/peerpin
 * @region: region id on that file
 * @offset: bytes from the region's start
 */
struct edu_place {
	__s32 fd;
	__u32 region;
	__aligned_u64 offset;
};

/**
 * struct edu_copy - ioctl(EDU_IOC_COPY)
 * @src: is read
 * @dst: is written
 * @length: bytes, 1 to EDU_BUFFER_BYTES
 * @reserved: 0
 *
 * Errors: EBADF, EACCES, ENOENT, as peerpin_region_get(9) has them; EINVAL not within the region
 * or the buffer; ESTALE the memory was freed; EIO the device does not reach the memory, or failed;
 * ENODEV it is gone; EINTR a signal arrived first. @dst is as it was, or partly written.
 */
struct edu_copy {
	struct edu_place src;
	struct edu_place dst;
	__u32 length;
	__u32 reserved;
};

#define EDU_IOC_COPY _IOW('E', 0x80, struct edu_copy)

#endif
