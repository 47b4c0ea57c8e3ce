/* SPDX-License-Identifier: MIT */
/* Short forms of the calls of /dev/peer_bench. */
#ifndef BENCH_PEER_H
#define BENCH_PEER_H

#include "test/kmod/peer_bench.h"
#include "bench.h"

static inline int peer_open(void)
{
	int fd = open("/dev/peer_bench", O_RDWR | O_CLOEXEC);

	bench_need(fd >= 0, "/dev/peer_bench (insmod peer_bench.ko)", errno);
	return fd;
}

static inline uint64_t peer_call(int peer, struct peer_bench c, enum peer_bench_op op)
{
	c.op = op;
	bench_need(!ioctl(peer, PEER_BENCH_IOC, &c), "PEER_BENCH_IOC", errno);
	return c.out_ns;
}

#endif
