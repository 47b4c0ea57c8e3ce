/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * /dev/importer0: the copy engine of an LSI 53C895A, which reaches dma-bufs. A file belongs to the process that
 * opened it. Any other process gets EACCES.
 */
#ifndef _IMPORTER_H
#define _IMPORTER_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define IMPORTER_TYPE 0xDE

/* @fd: of a dma-buf; may be closed afterwards */
struct importer_import {
	__s32 fd;
	__u32 out_handle;
};

struct importer_release {
	__u32 handle;
	__u32 reserved;
};

/* Offsets in the dma-bufs. The two ranges must not overlap in one dma-buf. */
struct importer_copy {
	__u32 dst;
	__u32 src;
	__u64 dst_offset;
	__u64 src_offset;
	__u64 length;
};

/*
 * ENOENT: the file has no such handle; ESTALE: the exporter has revoked the memory; EINVAL: bad argument; EBADF: no
 * dma-buf; ENODEV: the chip was removed; EIO: the chip does not answer. IMPORT also returns errors of the exporter.
 */
#define IMPORTER_IMPORT _IOWR(IMPORTER_TYPE, 1, struct importer_import)
#define IMPORTER_RELEASE _IOW(IMPORTER_TYPE, 2, struct importer_release)
#define IMPORTER_COPY _IOW(IMPORTER_TYPE, 3, struct importer_copy)

#endif
