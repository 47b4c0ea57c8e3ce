/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * /dev/direct0: the copy engine of an LSI 53C895A, which reaches GPU memory. A file belongs to the
 * process that opened it. Any other process gets EACCES.
 */
#ifndef _DIRECT_H
#define _DIRECT_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define DIRECT_TYPE 0xDD

/* flag: the memory outlives cuMemFree() until unpin */
#define DIRECT_PERSISTENT 1

/* mmap() offset of the pin's first 64 KiB page */
#define DIRECT_MMAP_OFFSET(handle) ((__u64)(handle) << 32)
#define DIRECT_LENGTH_MAX (1ULL << 32)

/* @p2p_token, @va_space: from CUDA, or both 0; with DIRECT_PERSISTENT: both 0 */
struct direct_pin_args {
	__u64 va;
	__u64 length;
	__u64 p2p_token;
	__u32 va_space;
	__u32 flags;
	__u32 out_handle;
	__u32 reserved;
};

struct direct_unpin_args {
	__u32 handle;
	__u32 reserved;
};

/* Offsets count from the va of the pin. The two ranges must not overlap in one pin. */
struct direct_copy_args {
	__u32 dst;
	__u32 src;
	__u64 dst_offset;
	__u64 src_offset;
	__u64 length;
};

/*
 * ENOENT: the file has no such handle; ESTALE: the pinned memory was freed; EINVAL: bad argument;
 * ENODEV: the chip was removed; EIO: the chip does not answer. PIN also returns errors of the GPU
 * driver.
 */
#define DIRECT_PIN _IOWR(DIRECT_TYPE, 1, struct direct_pin_args)
#define DIRECT_UNPIN _IOW(DIRECT_TYPE, 2, struct direct_unpin_args)
#define DIRECT_COPY _IOW(DIRECT_TYPE, 3, struct direct_copy_args)

#endif
