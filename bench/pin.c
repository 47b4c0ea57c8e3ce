// SPDX-License-Identifier: MIT
/*
 * The cost of pinning and unpinning GPU memory by /dev/peerpin, by libpeerpin, and by only the two
 * calls of the GPU driver (test/kmod/pin_bare.c). The contenders take turns, so that other load
 * disturbs all of them.
 */
#include <cuda.h>
#include <libpeerpin.h>
#include "test/kmod/pin_bare.h"
#include "bench.h"

enum {
	ROUNDS = 201,
	MOST = 64 << 20,
	BATCH_BYTES = 1 << 20,	/* measure small pins in batches */
};

static const uint64_t sizes[] = { 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20, MOST };
static const char *const size_names[] = { "64 KiB", "256 KiB", "1 MiB", "4 MiB", "16 MiB", "64 MiB" };
static const struct figure by_size = { "pin", "Pin and unpin GPU memory", "size", "bytes" };

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

/* Two empty system calls: the lower bound for two ioctls */
static uint64_t by_nobody(uint64_t length, unsigned int count)
{
	uint64_t start = now_ns();

	(void)length;
	for (count *= 2; count; count--)
		ioctl(pp_fd(ctx), 0, NULL);
	return now_ns() - start;
}

enum who { VENDOR, IOCTLS, LIBRARY, NOBODY, CONTENDERS };

static const struct {
	const char *name;
	uint64_t (*run)(uint64_t length, unsigned int count);
} contenders[CONTENDERS] = {
	[VENDOR] = { "the vendor's calls", by_vendor },
	[IOCTLS] = { "our ioctls", by_ioctl },
	[LIBRARY] = { "libpeerpin", by_library },
	[NOBODY] = { "two empty ioctls", by_nobody },
};

static uint64_t medians[N(sizes)][CONTENDERS];

static void say(unsigned int size)
{
	const uint64_t *median = medians[size];

	for (enum who c = 0; c < CONTENDERS; c++)
		printf("pin and unpin of %s, %s: median %lu ns of %d, %.2f of the vendor's\n", size_names[size],
		       contenders[c].name, median[c], ROUNDS, (double)median[c] / median[VENDOR]);
}

static void measure(unsigned int size)
{
	static uint64_t ns[CONTENDERS][ROUNDS];
	unsigned int count = sizes[size] < BATCH_BYTES ? BATCH_BYTES / sizes[size] : 1, i;
	enum who c;

	for (i = 0; i < ROUNDS; i++)
		for (c = 0; c < CONTENDERS; c++)
			ns[c][i] = contenders[c].run(sizes[size], count) / count;
	for (c = 0; c < CONTENDERS; c++)
		medians[size][c] = bench_median(ns[c], ROUNDS);
	say(size);
}

CASE(there_is_memory)
{
	CUcontext context;
	int ret;

	bench_need(!cuInit(0) && !cuDevicePrimaryCtxRetain(&context, 0) && !cuCtxSetCurrent(context) &&
		   !cuMemAlloc(&memory, MOST), "CUDA", ENODEV);
	ret = pp_open(&ctx);
	bench_need(!ret, "/dev/peerpin", ret);
	bare = open("/dev/pin_bare", O_RDWR | O_CLOEXEC);
	bench_need(bare >= 0, "/dev/pin_bare (insmod pin_bare.ko)", errno);
}

static void draw(enum who c)
{
	for (unsigned int i = 0; i < N(sizes); i++)
		point(&by_size, contenders[c].name, sizes[i], medians[i][c]);
}

CASE(pins_by_size)
{
	for (unsigned int i = 0; i < N(sizes); i++)
		measure(i);
	figure(&by_size);
	draw(IOCTLS);
	draw(LIBRARY);
	draw(VENDOR);
}

/* The lower bound for any driver: the calls of the GPU driver and two system calls */
static void claim_least(unsigned int size, double times)
{
	CLAIM(.what = "pin and unpin", .of = size_names[size], .ours = medians[size][IOCTLS],
	      .beside = "vendor's calls + 2 empty ioctls",
	      .theirs = medians[size][VENDOR] + medians[size][NOBODY], .times = times);
}

CASE(a_small_pin)
{
	claim_least(0, 0);
}

CASE(a_big_pin)
{
	claim_least(N(sizes) - 1, 1.15);
}

VMTEST_MAIN
