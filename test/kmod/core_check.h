/* SPDX-License-Identifier: MIT */
/*
 * /dev/core_check: a test driver for the in-kernel API of peerpin. Its platform devices reach every
 * address. Each open file keeps one region, its attachments and its transfers. A transfer moves no
 * data: it only counts as in flight.
 */
#ifndef CORE_CHECK_H
#define CORE_CHECK_H

#include <linux/ioctl.h>
#include <linux/types.h>

enum {
	CORE_CHECK_DEVICES = 8,			/* platform devices of the module; the chip has the next number */
	CORE_CHECK_CHIP = CORE_CHECK_DEVICES,	/* the first LSI chip, behind the IOMMU if there is one */
	CORE_CHECK_PEERS,
	CORE_CHECK_FLIGHTS = 8,			/* transfers of one file */
	CORE_CHECK_PIECES = 128,
};

enum core_check_op {
	CORE_CHECK_REGISTER,	/* register @peer with @max_seg, @boundary, @mask; EEXIST: registered already */
	CORE_CHECK_UNREGISTER,	/* unregister @peer; ENODEV: not registered */
	CORE_CHECK_STOPS,	/* number of calls of stop() for @peer */
	CORE_CHECK_PIN,		/* pin @addr, @length with @provider, @flags, @fd; EBUSY: the file has a region */
	CORE_CHECK_GET,		/* take a reference of @region of @fd; EBUSY: the file has a region */
	CORE_CHECK_UNPIN,	/* unpin the region of PIN and keep its attachments; EBADF: no such region */
	CORE_CHECK_PUT,		/* drop the region of GET; EBADF: no such region */
	CORE_CHECK_RANGE,	/* @out_start and @out_length of the file's region */
	CORE_CHECK_ATTACH,	/* attach the region to @peer; EBUSY: attached already; ENXIO: not registered */
	CORE_CHECK_DETACH,	/* drop the attachment for @peer; EBADF: none */
	CORE_CHECK_SGT,		/* list the addresses of the attachment for @peer */
	CORE_CHECK_BEGIN,	/* begin @flight for @peer with @offset, @length; EBUSY: in flight already */
	CORE_CHECK_WALK,	/* list the addresses of @flight in pieces of at most @max */
	CORE_CHECK_STALE,	/* @out_count is 1 if @flight is stale, else 0 */
	CORE_CHECK_END,		/* end @flight without waiting for other calls; ENOENT: not in flight */
	CORE_CHECK_END_AGAIN,	/* end @flight a second time (a bug), then STALE; EBUSY: still in flight */
	/*
	 * @max times: look up @region of @fd, attach it to @peer, begin and end a transfer of @length bytes.
	 * Stops at the first error. This file keeps no reference. @out_count: transfers that followed a
	 * transfer of another processor
	 */
	CORE_CHECK_TRANSFERS,
};

/**
 * struct core_check - CORE_CHECK_IOC
 * @op: enum core_check_op
 * @peer: number of the device
 * @flight: number of the transfer
 * @in_irq: 1: make the call in a hard interrupt
 * @late: ATTACH: 1: attach to a peer during its UNREGISTER, which waits for a DMA
 * @end_in_stop: BEGIN: 1: stop() ends the DMA
 * @wait_in_stop: BEGIN: 1: stop() waits until END, at most ten seconds
 * @max_seg: segment limit of the device; 0: 2^32 - 1
 * @boundary: segment boundary mask of the device; 0: 2^64 - 1
 * @mask: number of address bits of the device; 0: 64
 * @max: WALK: largest length of a piece; TRANSFERS: number of transfers
 * @out_count: number of pieces; the first CORE_CHECK_PIECES are listed. STOPS, STALE, END_AGAIN,
 *	TRANSFERS: see there
 * @out_reason: PIN: enum peerpin_reason
 */
struct core_check {
	__u32 op;
	__u32 peer;
	__u32 flight;
	__u32 in_irq;
	__u32 late;
	__u32 end_in_stop;
	__u32 wait_in_stop;
	__u32 pad;
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
