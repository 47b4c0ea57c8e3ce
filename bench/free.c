// SPDX-License-Identifier: MIT
/*
 * Time of cuMemFree() of memory with many regions, all pinned and attached to a device. The free
 * revokes all regions. It is compared with the free of memory without regions, and with a program
 * that unpins before the free. Revoked regions are unpinned later, outside of the measured time.
 */
#include <cuda.h>
#include "peer.h"

enum {
	ROUNDS = 21,
	LENGTH = 64 << 20,
	PIECE = 64 << 10,
	MOST = 1000,
};

static const unsigned int counts[] = { 1, 10, 100, MOST };
static const struct figure by_count = {
	"free", "cuMemFree() of 64 MiB in use", "regions pinned and attached", "count",
};

static int fd, peer;
static uint32_t regions[MOST];

enum how { REVOKED, FREED_FIRST, UNPINNED, BARE, HOWS };

static const char *const how_names[HOWS] = {
	[REVOKED] = "freed, all revoked",
	[FREED_FIRST] = "freed, then unpinned",
	[UNPINNED] = "unpinned, then freed",
	[BARE] = "freed, none pinned",
};

static uint64_t medians[N(counts)][HOWS];

static void pin_and_attach(CUdeviceptr memory, unsigned int count)
{
	struct peer_bench c = { .fd = fd, .regions = (uintptr_t)regions, .count = count, .peers = 1 };
	struct peerpin_pin pin;
	int ret;

	for (unsigned int i = 0; i < count; i++) {
		ret = pin_by(fd, memory + (uint64_t)i * PIECE, PIECE, PEERPIN_PROVIDER_NV, &pin);
		bench_need(!ret, "PEERPIN_IOC_PIN", ret);
		regions[i] = pin.out_region;
	}
	if (count)
		peer_call(peer, c, PEER_BENCH_ATTACH);
}

static void unpin_all(unsigned int count)
{
	int ret;

	for (unsigned int i = 0; i < count; i++) {
		ret = unpin(fd, regions[i]);
		bench_need(!ret, "PEERPIN_IOC_UNPIN", ret);
	}
}

/* Memory with @count regions. The program unpins @first of them before the free, the others after. *@all: total time */
static uint64_t free_ns(unsigned int count, unsigned int first, uint64_t *all)
{
	CUdeviceptr memory;
	uint64_t start, ns;

	bench_need(!cuMemAlloc(&memory, LENGTH), "cuMemAlloc", ENOMEM);
	pin_and_attach(memory, count);
	start = now_ns();
	unpin_all(first);
	bench_need(!cuMemFree(memory), "cuMemFree", EINVAL);
	ns = now_ns() - start;
	if (first < count)
		unpin_all(count);
	*all = now_ns() - start;
	return ns;
}

static void measure(unsigned int which)
{
	static uint64_t ns[HOWS][ROUNDS];
	unsigned int count = counts[which];
	uint64_t same;

	for (unsigned int i = 0; i < ROUNDS; i++) {
		ns[REVOKED][i] = free_ns(count, 0, &ns[FREED_FIRST][i]);
		ns[UNPINNED][i] = free_ns(count, count, &same);
		ns[BARE][i] = free_ns(0, 0, &same);
	}
	for (enum how h = 0; h < HOWS; h++)
		medians[which][h] = bench_median(ns[h], ROUNDS);
}

CASE(there_is_a_gpu)
{
	CUcontext context;

	bench_need(!cuInit(0) && !cuDevicePrimaryCtxRetain(&context, 0) && !cuCtxSetCurrent(context), "CUDA", ENODEV);
	fd = pin_open();
	bench_need(fd >= 0, "/dev/peerpin", errno);
	peer = peer_open();
}

CASE(frees_by_number_of_regions)
{
	unsigned int i;

	for (i = 0; i < N(counts); i++)
		measure(i);
	figure(&by_count);
	for (enum how h = 0; h < HOWS; h++)
		for (i = 0; i < N(counts); i++)
			point(&by_count, how_names[h], counts[i], medians[i][h]);
}

static void claim_free(unsigned int which, const char *of)
{
	const uint64_t *took = medians[which];

	CLAIM(.what = "cuMemFree() alone of memory in use", .of = of, .ours = took[REVOKED], .beside = how_names[BARE],
	      .theirs = took[BARE]);
	CLAIM(.what = "cuMemFree() alone of memory in use", .of = of, .ours = took[REVOKED],
	      .beside = how_names[UNPINNED], .theirs = took[UNPINNED], .times = 1.25);
	CLAIM(.what = "cuMemFree() of memory in use, and unpins after", .of = of, .ours = took[FREED_FIRST],
	      .beside = how_names[UNPINNED], .theirs = took[UNPINNED]);
}

CASE(one_region)
{
	claim_free(0, "1 region");
}

CASE(many_regions)
{
	claim_free(N(counts) - 1, "1,000 regions");
}

VMTEST_MAIN
