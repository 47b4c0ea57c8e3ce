/* SPDX-License-Identifier: MIT */
/*
 * /dev/peer_bench: a driver on peerpin's in-kernel API, for benchmarks. It registers the first LSI
 * chip as PEER_BENCH_PEERS peers and holds at most one DMA in flight.
 */
#ifndef PEER_BENCH_H
#define PEER_BENCH_H

#include <linux/ioctl.h>
#include <linux/types.h>

enum { PEER_BENCH_PEERS = 64 };

enum peer_bench_op {
	PEER_BENCH_ATTACH,	/* attach each of @regions to the first @peers peers; @out_ns: duration */
	PEER_BENCH_HOLD,	/* begin a DMA on the first region and the last peer */
	PEER_BENCH_END,		/* end the DMA, if stop() did not end it; @out_ns: time of the end */
	/*
	 * unregister the first @peers peers (@out_ns: duration), and register them again. A DMA that HOLD has begun
	 * must end by stop(); @out_stop_ns: time from the begin of its peer's unregistration to stop()
	 */
	PEER_BENCH_RENEW,
	/*
	 * @rounds transfers by the first peer on the first region, as fast as possible; several threads may
	 * call at the same time; @out_ns: duration. TRANSFER: begin, next and end. LOOK_UP: the region and
	 * the attachment are looked up before each transfer. LOCKED: no transfer, but the same number of
	 * counts under one spinlock, as earlier versions of peerpin counted. PRIVATE: the same, but each
	 * call has a spinlock and counts of its own, so that the threads share nothing
	 */
	PEER_BENCH_TRANSFER,
	PEER_BENCH_LOOK_UP,
	PEER_BENCH_LOCKED,
	PEER_BENCH_PRIVATE,
};

/**
 * struct peer_bench - PEER_BENCH_IOC
 * @op: enum peer_bench_op
 * @fd: file of /dev/peerpin
 * @regions: address of an array of region ids
 * @count: number of @regions
 * @peers: number of peers, 1 to PEER_BENCH_PEERS
 * @end_ms: HOLD: time from stop() to the end of the DMA; 0: stop() does not end the DMA
 * @rounds: number of transfers
 * @out_ns: ATTACH: time for all regions; END: CLOCK_MONOTONIC
 */
struct peer_bench {
	__u32 op;
	__s32 fd;
	__aligned_u64 regions;
	__u32 count;
	__u32 peers;
	__u32 end_ms;
	__u32 rounds;
	__aligned_u64 out_ns;
	__aligned_u64 out_stop_ns;
};

#define PEER_BENCH_IOC _IOWR(0xBC, 0x20, struct peer_bench)

#endif
