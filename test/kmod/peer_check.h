/* SPDX-License-Identifier: MIT */
/*
 * /dev/peer_check: a second driver that uses the in-kernel API of peerpin, for tests. It registers
 * the first LSI chip as another peer. A test program makes the calls of a driver in any order, or
 * omits some.
 */
#ifndef PEER_CHECK_H
#define PEER_CHECK_H

#include <linux/ioctl.h>
#include <linux/types.h>

enum peer_check_op {
	PEER_CHECK_REGISTER,	/* register the peer; EEXIST: registered already */
	PEER_CHECK_UNREGISTER,
	PEER_CHECK_SEGMENTS,	/* attach, begin, walk, end: list bus addresses */
	PEER_CHECK_HOLD,	/* attach and begin; the DMA stays in flight; EBUSY: too many */
	PEER_CHECK_END,		/* end each DMA of HOLD; ENOENT: none in flight */
	PEER_CHECK_STOPS,	/* number of calls of stop() */
	PEER_CHECK_PIN,		/* pin @length bytes at address @offset; EBUSY: one region at a time */
	PEER_CHECK_UNPIN,	/* unpin the region of PIN; ENOENT: none */
};

enum { PEER_CHECK_SEGMENTS_MAX = 32, PEER_CHECK_HELD_MAX = 8 };

/**
 * struct peer_check - PEER_CHECK_IOC
 * @op: enum peer_check_op
 * @fd: of /dev/peerpin, with @region, @offset, @length
 * @end_in_stop: HOLD: 1: stop() ends the DMA
 * @max: SEGMENTS: largest piece in bytes
 * @out_count: SEGMENTS: number of pieces; STOPS: number of calls; PIN, if it fails: the reason
 * @out_bus: bus addresses of the first pieces
 * @out_len: lengths of the first pieces
 */
struct peer_check {
	__u32 op;
	__s32 fd;
	__u32 region;
	__u32 end_in_stop;
	__aligned_u64 offset;
	__aligned_u64 length;
	__u32 max;
	__u32 out_count;
	__aligned_u64 out_bus[PEER_CHECK_SEGMENTS_MAX];
	__u32 out_len[PEER_CHECK_SEGMENTS_MAX];
};

#define PEER_CHECK_IOC _IOWR(0xBC, 0, struct peer_check)

#endif
