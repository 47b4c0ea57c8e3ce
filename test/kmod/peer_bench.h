/* SPDX-License-Identifier: MIT */
/*
 * /dev/peer_bench: a driver on peerpin's in-kernel API, for benchmarks. It
 * registers the first LSI chip as PEER_BENCH_PEERS peers of its own and holds
 * at most one DMA in flight.
 */
#ifndef PEER_BENCH_H
#define PEER_BENCH_H

#include <linux/ioctl.h>
#include <linux/types.h>

enum { PEER_BENCH_PEERS = 8 };

enum peer_bench_op {
	PEER_BENCH_ATTACH,	/* each of @regions to the first @peers; @out_ns: duration */
	PEER_BENCH_HOLD,	/* begin a DMA on the first of @regions and the last of @peers */
	PEER_BENCH_END,		/* end it, unless stop() has; @out_ns: time of the end */
};

/**
 * struct peer_bench - PEER_BENCH_IOC
 * @op: enum peer_bench_op
 * @fd: of /dev/peerpin
 * @regions: address of an array of ids
 * @count: of @regions
 * @peers: 1 to PEER_BENCH_PEERS
 * @end_ms: HOLD: time from stop() to the end of the DMA; 0: never ends
 * @out_ns: ATTACH: for all regions; END: CLOCK_MONOTONIC
 */
struct peer_bench {
	__u32 op;
	__s32 fd;
	__aligned_u64 regions;
	__u32 count;
	__u32 peers;
	__u32 end_ms;
	__u32 reserved;
	__aligned_u64 out_ns;
};

#define PEER_BENCH_IOC _IOWR(0xBC, 0x20, struct peer_bench)

#endif
