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

#define EDU_COPY_MAX (1 << 24)

#endif
