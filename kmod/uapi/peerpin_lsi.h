/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * /dev/lsiN: the copy engine of an LSI 53C895A, the reference third-party
 * device. Each end of a copy is a region of /dev/peerpin, or memory at a
 * pointer, which the driver pins for the one copy.
 */
#ifndef _UAPI_PEERPIN_LSI_H
#define _UAPI_PEERPIN_LSI_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define PEERPIN_LSI_TYPE 0xBA

/** enum peerpin_lsi_flags - kinds of the ends of a copy; default: regions */
enum peerpin_lsi_flags {
	/* @offset of this end is an address in the calling process; @fd and @region are 0 */
	PEERPIN_LSI_DST_POINTER = 1,
	PEERPIN_LSI_SRC_POINTER = 2,
};

/**
 * struct peerpin_lsi_end - one end of a copy
 * @fd: descriptor of the /dev/peerpin file on which the calling process made the region
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
 * @dst: destination
 * @src: source
 * @length: bytes, not 0. The two ranges must not overlap. An overlap through two
 *	regions is not detected: the common bytes are copied in an undefined order
 * @out_ns: time the engine ran, in nanoseconds
 *
 * Returns when the last byte has arrived. Errors besides the common ones (see
 * peerpin.h): EBADF not a file of /dev/peerpin; EACCES that file belongs to
 * another process; ENOENT no such region; EINVAL a range is empty, overflows,
 * lies outside its region or overlaps the other range; ESTALE a region was revoked
 * before or during the copy (the destination, if it was not freed, then holds an
 * undefined part of the data); EIO the device reported an error or cannot reach the
 * memory; ENODEV the device is being removed; EINTR a signal arrived before the copy
 * began; ENOMEM; for a pointer also the errors of PEERPIN_IOC_PIN; for a region of a
 * dma-buf also the errors of its exporter.
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
