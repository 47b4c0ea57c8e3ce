/* SPDX-License-Identifier: MIT */
/*
 * /dev/peer_check: a second driver on peerpin's in-kernel API, for tests. It
 * registers the first LSI chip once more, as a peer of its own, and does by
 * hand what a driver does or fails to do.
 */
#ifndef PEER_CHECK_H
#define PEER_CHECK_H

#include <linux/ioctl.h>
#include <linux/types.h>

enum peer_check_op {
	PEER_CHECK_REGISTER,	/* a peer; EEXIST */
	PEER_CHECK_UNREGISTER,
	PEER_CHECK_SEGMENTS,	/* attach, begin, walk, end: bus addresses */
	PEER_CHECK_HOLD,	/* attach and begin; DMA stays in flight; EBUSY */
	PEER_CHECK_END,		/* end all that HOLD began; ENOENT */
	PEER_CHECK_STOPS,	/* how often stop() was called */
	PEER_CHECK_PIN,		/* a region of the driver's own, one at a time: EBUSY; of @offset (an address), @length */
	PEER_CHECK_UNPIN,	/* that; ENOENT */
};

enum { PEER_CHECK_SEGMENTS_MAX = 32, PEER_CHECK_HELD_MAX = 8 };

/**
 * struct peer_check - PEER_CHECK_IOC
 * @op: enum peer_check_op
 * @fd: of /dev/peerpin, with @region, @offset, @length
 * @end_in_stop: HOLD: 1 when stop() shall end the DMA
 * @max: SEGMENTS: most bytes of a piece
 * @out_count: SEGMENTS: pieces in all; STOPS: calls; PIN that fails: the reason
 * @out_bus: the first of them
 * @out_len: likewise
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
