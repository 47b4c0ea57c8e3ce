/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * /dev/eduN: QEMU's edu device copies memory that the caller has pinned on /dev/peerpin, through
 * the buffer of the device.
 */
#ifndef _UAPI_EDU_H
#define _UAPI_EDU_H

#include <linux/ioctl.h>
#include <linux/types.h>

enum {
	EDU_BUFFER_BYTES = 4092,	/* of 4096: QEMU 7.2 exits if a move reaches the last byte */
};

/**
 * struct edu_place - start of the source or destination of a copy
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
 * @src: source
 * @dst: destination
 * @length: bytes, 1 to EDU_BUFFER_BYTES
 * @reserved: 0
 *
 * Errors: EBADF, EACCES, ENOENT as from peerpin_region_get(9); EINVAL not within the region or the
 * buffer; ESTALE the memory was freed; EIO the device cannot reach the memory, or failed; ENODEV the
 * device was removed; EINTR a signal arrived before the copy. After an error, @dst may be partly written.
 */
struct edu_copy {
	struct edu_place src;
	struct edu_place dst;
	__u32 length;
	__u32 reserved;
};

#define EDU_IOC_COPY _IOW('E', 0x80, struct edu_copy)

#endif
