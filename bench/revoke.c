// SPDX-License-Identifier: MIT
/*
 * Time to free memory with eight devices attached and a DMA in flight. Two cases: the time from the
 * end of the DMA to the end of the free, and the time of a free while the DMA never ends.
 */
#include <cuda.h>
#include <stdbool.h>
#include "peer.h"

enum {
	ROUNDS = 101,
	PEERS = 8,
	LENGTH = 8 << 20,
	END_MS = 2,
	TIMEOUT_MS = 200,
	SLACK_MS = 200,
	TICK_MS = 10,
};

#define MS 1000000ull
#define PARAMETER "/sys/module/peerpin/parameters/drain_timeout_ms"

static int fd, peer;

static void set_timeout(unsigned int ms)
{
	FILE *f = fopen(PARAMETER, "w");

	bench_need(f && fprintf(f, "%u", ms) > 0 && !fclose(f), PARAMETER, errno);
}

static CUdeviceptr make_busy(struct peer_bench *c)
{
	static struct peerpin_pin pin;
	CUdeviceptr memory;
	int ret;

	bench_need(!cuMemAlloc(&memory, LENGTH), "cuMemAlloc", ENOMEM);
	ret = pin_by(fd, memory, LENGTH, PEERPIN_PROVIDER_NV, &pin);
	bench_need(!ret, "PEERPIN_IOC_PIN", ret);
	c->fd = fd;
	c->regions = (uintptr_t)&pin.out_region;
	c->count = 1;
	c->peers = PEERS;
	peer_call(peer, *c, PEER_BENCH_ATTACH);
	peer_call(peer, *c, PEER_BENCH_HOLD);
	return memory;
}

/* Free memory in use. Return the times at which the free started, the free ended and the DMA ended. */
static void free_busy(unsigned int end_ms, uint64_t *started, uint64_t *freed, uint64_t *ended)
{
	struct peer_bench c = { .end_ms = end_ms };
	CUdeviceptr memory = make_busy(&c);
	int ret;

	*started = now_ns();
	bench_need(!cuMemFree(memory), "cuMemFree", EINVAL);
	*freed = now_ns();
	*ended = peer_call(peer, c, PEER_BENCH_END);
	ret = unpin(fd, *(uint32_t *)(uintptr_t)c.regions);
	bench_need(!ret, "PEERPIN_IOC_UNPIN", ret);
}

CASE(there_is_a_gpu)
{
	CUcontext context;

	bench_need(!cuInit(0) && !cuDevicePrimaryCtxRetain(&context, 0) && !cuCtxSetCurrent(context), "CUDA", ENODEV);
	fd = pin_open();
	bench_need(fd >= 0, "/dev/peerpin", errno);
	peer = peer_open();
}

/* Unmapping eight devices takes longer than a millisecond. */
static bool iommu_is_emulated(void)
{
	return bench_is_emulated() && !access("/sys/class/iommu/dmar0", F_OK);
}

CASE(free_returns_soon_after_the_dma)
{
	uint64_t ns[ROUNDS], started, freed, ended, median;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		free_busy(END_MS, &started, &freed, &ended);
		EXPECT(ended > started && ended < freed, "the DMA ended at %ld of %ld ns", (long)(ended - started),
		       (long)(freed - started));
		ns[i] = freed - ended;
	}
	median = bench_median(ns, ROUNDS);
	printf("free after the end of the DMA, %d devices attached: median %lu ns, longest %lu ns of %d\n",
	       PEERS, median, ns[ROUNDS - 1], ROUNDS);
	CLAIM(.what = "free after the end of the DMA", .of = "8 devices attached", .ours = median,
	      .most = iommu_is_emulated() ? 0 : MS);
}

CASE(free_does_not_wait_for_a_driver_for_ever)
{
	uint64_t started, freed, ended, ns;

	set_timeout(TIMEOUT_MS);
	free_busy(0, &started, &freed, &ended);
	set_timeout(1000);
	ns = freed - started;
	EXPECT(ended > freed, "the DMA had ended");
	/* the timeout is in ticks, and the first tick is partial */
	EXPECT(ns >= (TIMEOUT_MS - TICK_MS) * MS, "too early");
	CLAIM(.what = "free under a DMA that does not end", .ours = ns, .beside = "drain_timeout_ms",
	      .theirs = TIMEOUT_MS * MS, .more = SLACK_MS * MS);
}

VMTEST_MAIN
