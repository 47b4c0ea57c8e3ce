/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/* /dev/edu: the DMA engine of QEMU's edu device copies memory. */
#ifndef _UAPI_EDU_H
#define _UAPI_EDU_H

#include <linux/ioctl.h>
#include <linux/types.h>

/* struct edu_copy - pointers of the caller; at most EDU_COPY_MAX bytes */
struct edu_copy {
	__aligned_u64 dst;
	__aligned_u64 src;
	__aligned_u64 length;
};
#define EDU_IOC_COPY _IOW(0xED, 0x80, struct edu_copy)

/*
 * struct edu_place - start of the source or destination of a copy
 * @fd: of /dev/peerpin, in the calling process; -1: @offset is a pointer
 * @region: id of a region of that file; 0 with a pointer
 * @offset: bytes from the region's start
 */
struct edu_place {
	__s32 fd;
	__u32 region;
	__aligned_u64 offset;
};

/* struct edu_copy_places - also at most EDU_COPY_MAX bytes */
struct edu_copy_places {
	struct edu_place dst;
	struct edu_place src;
	__aligned_u64 length;
};
#define EDU_IOC_COPY_PLACES _IOW(0xED, 0x81, struct edu_copy_places)

#define EDU_COPY_MAX (1 << 24)

#endif
