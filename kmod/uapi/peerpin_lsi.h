/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * /dev/lsiN: the copy engine of an LSI 53C895A, the reference third-party
 * device. It copies between regions of /dev/peerpin, or between what pointers
 * name: then it pins that itself, for the one copy.
 */
#ifndef _UAPI_PEERPIN_LSI_H
#define _UAPI_PEERPIN_LSI_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define PEERPIN_LSI_TYPE 0xBA

/** enum peerpin_lsi_flags - what the ends of a copy are */
enum peerpin_lsi_flags {
	/* @offset of that end is an address in the calling process, @fd and @region are 0 */
	PEERPIN_LSI_DST_POINTER = 1,
	PEERPIN_LSI_SRC_POINTER = 2,
};

/**
 * struct peerpin_lsi_end - one end of a copy
 * @fd: file of /dev/peerpin the region was made on, by the calling process
 * @region: region id on that file
 * @offset: bytes from the region's start
 */
struct peerpin_lsi_end {
	__s32 fd;
	__u32 region;
	__aligned_u64 offset;
};

/**
 * struct peerpin_lsi_copy - ioctl(PEERPIN_LSI_IOC_COPY)
 * @size: sizeof(struct peerpin_lsi_copy)
 * @flags: enum peerpin_lsi_flags
 * @dst: where to
 * @src: where from
 * @length: bytes, not 0; the two ranges must not overlap (what overlaps
 *	through two regions is not noticed, and copied in some order)
 * @out_ns: time the engine ran, in nanoseconds
 *
 * Returns when the last byte has arrived. Errors besides the common form (see
 * peerpin.h): EBADF not a file of /dev/peerpin; EACCES that file belongs to
 * another process; ENOENT no such region; EINVAL a range is empty, overflows,
 * lies outside its region or overlaps the other in it; ESTALE a region was revoked
 * before or during the copy, and the destination, where it still exists,
 * holds an undefined part of the data; EIO the device reported an error or
 * cannot reach the memory; ENODEV the device is being removed; EINTR a signal
 * arrived before the copy began; ENOMEM; of a pointer, also what PEERPIN_IOC_PIN
 * says; of a region that is a dma-buf, also what its exporter says.
 */
struct peerpin_lsi_copy {
	__u32 size;
	__u32 flags;
	struct peerpin_lsi_end dst;
	struct peerpin_lsi_end src;
	__aligned_u64 length;
	__aligned_u64 out_ns;
};
#define PEERPIN_LSI_IOC_COPY _IO(PEERPIN_LSI_TYPE, 0x80)

#endif
