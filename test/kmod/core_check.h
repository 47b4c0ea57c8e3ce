/* SPDX-License-Identifier: MIT */
/*
 * /dev/core_check: a driver that uses the in-kernel API of peerpin, for tests. It has devices of its
 * own, which reach every address. Each file keeps its region, attachments and transfers. A transfer
 * moves no data: it only counts as in flight.
 */
#ifndef CORE_CHECK_H
#define CORE_CHECK_H

#include <linux/ioctl.h>
#include <linux/types.h>

enum {
	CORE_CHECK_DEVICES = 8,			/* of the module; the chip follows */
	CORE_CHECK_CHIP = CORE_CHECK_DEVICES,	/* the first LSI chip, behind the IOMMU if there is one */
	CORE_CHECK_PEERS,
	CORE_CHECK_FLIGHTS = 8,			/* of one file */
	CORE_CHECK_PIECES = 128,
};

enum core_check_op {
	CORE_CHECK_REGISTER,	/* @peer, with @max_seg, @boundary, @mask; EEXIST */
	CORE_CHECK_UNREGISTER,	/* @peer; ENODEV; one at a time */
	CORE_CHECK_STOPS,	/* how often stop() was called for @peer */
	CORE_CHECK_PIN,		/* @addr, @length, @provider, @flags, @fd: the file's region; EBUSY */
	CORE_CHECK_GET,		/* @region of @fd becomes the file's; EBUSY */
	CORE_CHECK_UNPIN,	/* the region of PIN; EBADF without; its attachments stay */
	CORE_CHECK_PUT,		/* the region of GET; EBADF */
	CORE_CHECK_RANGE,	/* @out_start, @out_length */
	CORE_CHECK_ATTACH,	/* for @peer; EBUSY; ENXIO @peer is not registered */
	CORE_CHECK_DETACH,	/* drop the attachment for @peer; EBADF */
	CORE_CHECK_SGT,		/* list the attachment for @peer */
	CORE_CHECK_BEGIN,	/* in @flight, for @peer: @offset, @length; EBUSY */
	CORE_CHECK_WALK,	/* @flight in pieces of @max */
	CORE_CHECK_STALE,	/* @flight; 1 or 0 in @out_count */
	CORE_CHECK_END,		/* @flight; ENOENT. Waits for no other call */
	CORE_CHECK_END_AGAIN,	/* end @flight a second time (a bug), then as STALE; EBUSY */
};

/**
 * struct core_check - CORE_CHECK_IOC
 * @op: enum core_check_op
 * @peer: number of the device
 * @flight: number of the DMA
 * @in_irq: 1: make the call in a hard interrupt
 * @late: ATTACH: 1: to a peer whose UNREGISTER waits for a DMA that the caller has in flight
 * @end_in_stop: BEGIN: 1: stop() ends the DMA
 * @max_seg: of the device; 0: 2^32 - 1
 * @boundary: its segment boundary mask; 0: 2^64 - 1
 * @mask: bits of its address mask; 0: 64
 * @out_count: number of pieces, of which at most PIECES are listed; or as above
 * @out_reason: PIN: enum peerpin_reason
 */
struct core_check {
	__u32 op;
	__u32 peer;
	__u32 flight;
	__u32 in_irq;
	__u32 late;
	__u32 end_in_stop;
	__aligned_u64 boundary;
	__u32 max_seg;
	__u32 mask;
	__u32 max;
	__s32 fd;
	__u32 region;
	__u32 provider;
	__u32 flags;
	__aligned_u64 addr;
	__aligned_u64 offset;
	__aligned_u64 length;
	__u32 out_count;
	__u32 out_reason;
	__aligned_u64 out_start;
	__aligned_u64 out_length;
	__aligned_u64 out_bus[CORE_CHECK_PIECES];
	__u32 out_len[CORE_CHECK_PIECES];
};

#define CORE_CHECK_IOC _IOWR(0xBC, 32, struct core_check)

#endif
