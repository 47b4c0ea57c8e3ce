/* SPDX-License-Identifier: MIT */
/*
 * /dev/ib_peer_shim: an InfiniBand core with peer memory clients, but without InfiniBand. Each file
 * is one registration (an MR). A test program makes all steps by one call (REGISTER, DEREGISTER), or
 * one by one, in any thread:
 *
 *	ACQUIRE GET_PAGES DMA_MAP ACTIVATE ... STOP UNMAP PUT RELEASE
 *
 * From GET_PAGES to ACTIVATE an invalidation waits, as for the lock of a real core. From STOP to PUT
 * it waits unless the client unmaps in invalidate. close() makes the remaining steps.
 */
#ifndef IB_PEER_SHIM_H
#define IB_PEER_SHIM_H

#include <linux/ioctl.h>
#include <linux/types.h>

enum ib_peer_op {
	IB_PEER_REGISTER,	/* the first four; if one fails, undo them */
	IB_PEER_DEREGISTER,	/* the last four */
	IB_PEER_ACQUIRE,	/* @addr, @length, @flags; the first step. ENXIO: no client takes it */
	IB_PEER_GET_PAGES,	/* these steps: EINVAL if out of order */
	IB_PEER_DMA_MAP,	/* for @device; if it fails, it puts the pages */
	IB_PEER_ACTIVATE,
	IB_PEER_STOP,
	IB_PEER_UNMAP,
	IB_PEER_PUT,
	IB_PEER_RELEASE,
	IB_PEER_STATE,		/* all out_ members, except those of LIST and LOOK */
	IB_PEER_LIST,		/* the mapping: bus addresses, cut to the pages of the range */
	IB_PEER_LOOK,		/* translate @addr on the bus of @device: @out_phys, 0: not mapped; ENODATA: no IOMMU */
	IB_PEER_COPY,		/* the chip copies @length bytes from @from_offset in the MR of file @from to @offset */
};

enum ib_peer_flags {
	IB_PEER_NO_INVALIDATION = 1 << 0,	/* the device's driver supports no invalidation, like some real ones */
	IB_PEER_OLD_CORE = 1 << 1,		/* invalidate always unmaps: a core before PEER_MEM_INVALIDATE_UNMAPS */
	IB_PEER_RELEASES = 1 << 2,		/* invalidate also releases */
};

enum ib_peer_device {
	IB_PEER_CHIP,		/* the first LSI chip, behind the IOMMU if there is one; COPY is for it */
	IB_PEER_PLATFORM,	/* on no bus; reaches every address */
	IB_PEER_PLATFORM_24,	/* only the first 16 MiB */
	IB_PEER_SOFTWARE,	/* does no DMA */
	IB_PEER_NO_DEVICE,	/* has no struct device */
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
	IB_PEER_RELEASED,	/* the last */
};

enum { IB_PEER_PIECES = 64 };

/**
 * struct ib_peer - IB_PEER_IOC
 * @out_name: of the client
 * @out_state: enum ib_peer_state
 * @out_invalidated: calls of invalidate by the client
 * @out_told: invalidations passed to the device's driver: at most 1
 * @out_overdue: invalidations that timed out waiting for a step: must be 0
 * @out_unmaps: calls of dma_unmap: one for each dma_map
 * @out_puts: calls of put_pages: likewise
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
