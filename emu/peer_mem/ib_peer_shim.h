/* SPDX-License-Identifier: MIT */
/*
 * /dev/ib_peer_shim: an InfiniBand core with peer memory clients, but without InfiniBand. Each open
 * file is one registration (an MR), made and ended in these steps:
 *
 *	ACQUIRE GET_PAGES DMA_MAP ACTIVATE ... STOP UNMAP PUT RELEASE
 *
 * A test program makes the steps one by one, in any thread. REGISTER makes the first four steps in
 * one call, DEREGISTER the last four. close() makes the remaining steps.
 *
 * From GET_PAGES to ACTIVATE an invalidation waits, as for the lock of a real core. From STOP to
 * PUT an invalidation also waits, except if the client itself unmaps in invalidate.
 */
#ifndef IB_PEER_SHIM_H
#define IB_PEER_SHIM_H

#include <linux/ioctl.h>
#include <linux/types.h>

enum ib_peer_op {
	IB_PEER_REGISTER,	/* make the steps ACQUIRE to ACTIVATE; if a step fails, undo all steps */
	IB_PEER_DEREGISTER,	/* make the steps STOP to RELEASE */
	IB_PEER_ACQUIRE,	/* the range @addr, @length, with @flags; ENXIO: no client takes the range */
	IB_PEER_GET_PAGES,	/* this and the other steps: EINVAL if out of order */
	IB_PEER_DMA_MAP,	/* map for @device; on failure also put the pages */
	IB_PEER_ACTIVATE,
	IB_PEER_STOP,
	IB_PEER_UNMAP,
	IB_PEER_PUT,
	IB_PEER_RELEASE,
	IB_PEER_STATE,		/* fill in all out_ members, except those of LIST and LOOK */
	IB_PEER_LIST,		/* list the bus addresses of the mapping, cut to the CPU pages of the range */
	IB_PEER_LOOK,		/* translate @addr on @device's bus to @out_phys; 0: not mapped; ENODATA: no IOMMU */
	IB_PEER_COPY,		/* chip copies @length bytes: from @from_offset of file @from to @offset of this file */
};

enum ib_peer_flags {
	IB_PEER_NO_INVALIDATION = 1 << 0,	/* the device's driver cannot handle invalidations, like some drivers */
	IB_PEER_OLD_CORE = 1 << 1,		/* a core older than PEER_MEM_INVALIDATE_UNMAPS: invalidate unmaps */
	IB_PEER_RELEASES = 1 << 2,		/* invalidate also calls release */
};

enum ib_peer_device {
	IB_PEER_CHIP,		/* the first LSI chip, behind the IOMMU if present; needed for COPY */
	IB_PEER_PLATFORM,	/* platform device; reaches every address */
	IB_PEER_PLATFORM_24,	/* platform device; reaches only the first 16 MiB */
	IB_PEER_SOFTWARE,	/* a device without DMA */
	IB_PEER_NO_DEVICE,	/* NULL in place of a struct device */
	IB_PEER_DEVICES,
};

enum ib_peer_state {
	IB_PEER_NEW,
	IB_PEER_ACQUIRED,
	IB_PEER_PINNED,
	IB_PEER_MAPPED,
	IB_PEER_ACTIVE,
	IB_PEER_STOPPED,
	IB_PEER_UNMAPPED,
	IB_PEER_PUT_BACK,
	IB_PEER_RELEASED,	/* the last state */
};

enum { IB_PEER_PIECES = 64 };

/**
 * struct ib_peer - IB_PEER_IOC
 * @out_name: name of the client
 * @out_state: enum ib_peer_state
 * @out_invalidated: number of calls of invalidate by the client
 * @out_told: number of invalidations passed to the device's driver: at most 1
 * @out_overdue: number of invalidations that timed out waiting for a step: must be 0
 * @out_unmaps: number of calls of dma_unmap: must equal the calls of dma_map
 * @out_puts: number of calls of put_pages: must equal the calls of get_pages
 * @out_count: LIST: number of pieces
 */
struct ib_peer {
	__u32 op;
	__u32 flags;
	__u32 device;
	__s32 from;
	__aligned_u64 addr;
	__aligned_u64 length;
	__aligned_u64 offset;
	__aligned_u64 from_offset;
	char out_name[64];
	__u32 out_state;
	__u32 out_invalidated;
	__u32 out_told;
	__u32 out_overdue;
	__u32 out_unmaps;
	__u32 out_puts;
	__u32 out_count;
	__u32 reserved;
	__aligned_u64 out_phys;
	__aligned_u64 out_bus[IB_PEER_PIECES];
	__aligned_u64 out_len[IB_PEER_PIECES];
};

#define IB_PEER_IOC _IOWR(0xBC, 48, struct ib_peer)

#endif
