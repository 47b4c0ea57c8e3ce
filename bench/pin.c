// SPDX-License-Identifier: MIT
/*
 * What pinning and unpinning GPU memory costs through /dev/peerpin, through
 * libpeerpin, and by the vendor's two calls alone (test/kmod/pin_bare.c). The
 * contenders take turns, so that a busy machine disturbs all alike.
 */
#include <cuda.h>
#include <libpeerpin.h>
#include "../test/kmod/pin_bare.h"
#include "bench.h"

enum {
	ROUNDS = 201,
	SMALL = 64 << 10,
	BIG = 64 << 20,
};

static CUdeviceptr memory;
static struct pp_ctx *ctx;
static int bare;

static uint64_t by_vendor(uint64_t length, unsigned int count)
{
	struct pin_bare c = { .addr = memory, .length = length, .count = count };

	bench_need(!ioctl(bare, PIN_BARE_IOC, &c), "PIN_BARE_IOC", errno);
	return c.out_ns;
}

static uint64_t by_ioctl(uint64_t length, unsigned int count)
{
	uint64_t start = now_ns();
	struct peerpin_pin pin;
	int ret;

	while (count--) {
		ret = pin_by(pp_fd(ctx), memory, length, PEERPIN_PROVIDER_NV, &pin);
		bench_need(!ret, "PEERPIN_IOC_PIN", ret);
		ret = unpin(pp_fd(ctx), pin.out_region);
		bench_need(!ret, "PEERPIN_IOC_UNPIN", ret);
	}
	return now_ns() - start;
}

static uint64_t by_library(uint64_t length, unsigned int count)
{
	uint64_t start = now_ns();
	struct pp_region region;
	int ret;

	while (count--) {
		ret = pp_pin(ctx, (void *)memory, length, &region, NULL);
		bench_need(!ret, "pp_pin", ret);
		ret = pp_unpin(ctx, &region);
		bench_need(!ret, "pp_unpin", ret);
	}
	return now_ns() - start;
}

/* What two system calls cost that do nothing: no ioctl can be cheaper. */
static uint64_t by_nobody(uint64_t length, unsigned int count)
{
	uint64_t start = now_ns();

	(void)length;
	for (count *= 2; count; count--)
		ioctl(pp_fd(ctx), 0, NULL);
	return now_ns() - start;
}

static struct contender {
	const char *name;
	uint64_t (*run)(uint64_t length, unsigned int count);
	uint64_t ns[ROUNDS];
	uint64_t median;
} contenders[] = {
	{ .name = "the vendor's calls", .run = by_vendor },
	{ .name = "our ioctls", .run = by_ioctl },
	{ .name = "libpeerpin", .run = by_library },
	{ .name = "two empty ioctls", .run = by_nobody },
};

static void measure(uint64_t length, unsigned int count)
{
	unsigned int i, c;

	for (i = 0; i < ROUNDS; i++)
		for (c = 0; c < N(contenders); c++)
			contenders[c].ns[i] = contenders[c].run(length, count) / count;
	for (c = 0; c < N(contenders); c++) {
		contenders[c].median = bench_median(contenders[c].ns, ROUNDS);
		printf("pin and unpin of %lu KiB, %s: median %lu ns of %d, %.2f of the vendor's\n", length >> 10,
		       contenders[c].name, contenders[c].median, ROUNDS,
		       (double)contenders[c].median / contenders[0].median);
	}
}

CASE(there_is_memory)
{
	CUcontext context;
	int ret;

	bench_need(!cuInit(0) && !cuDevicePrimaryCtxRetain(&context, 0) && !cuCtxSetCurrent(context) &&
		   !cuMemAlloc(&memory, BIG), "CUDA", ENODEV);
	ret = pp_open(&ctx);
	bench_need(!ret, "/dev/peerpin", ret);
	bare = open("/dev/pin_bare", O_RDWR | O_CLOEXEC);
	bench_need(bare >= 0, "/dev/pin_bare (insmod pin_bare.ko)", errno);
}

CASE(pin_64_KiB)
{
	measure(SMALL, 16);
}

/* The vendor's calls and two system calls are what any driver has to pay. */
CASE(pin_64_MiB)
{
	uint64_t least;

	measure(BIG, 1);
	least = contenders[0].median + contenders[3].median;
	EXPECT(contenders[1].median <= least * 1.15, "more than 1.15 of the vendor's calls and two empty ioctls");
}

VMTEST_MAIN
