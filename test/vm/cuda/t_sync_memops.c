// SPDX-License-Identifier: MIT
/*
 * Without SYNC_MEMOPS a device-to-device copy returns before the bytes have moved. A peer that
 * reads then finds the old bytes. A delay of the emulated copy engine makes this happen always. The
 * tests pin with the bare ioctl, because the library would set SYNC_MEMOPS.
 */
#include "cu.h"
#include "test/vm/core/pin.h"

enum {
	SIZE = 2 << 20,
	OLD = 0x11,
	NEW = 0x22,
	DELAY_MS = 200,
};

static CUcontext ctx;
static CUdeviceptr dst, src;
static unsigned char *seen;		/* host buffer that the peer writes */
static int fd, lsi;
static uint32_t gpu_region, host_region;

SETUP(gpu_and_peer_are_there)
{
	struct peerpin_pin pin;

	OK(setenv("EMUGPU_COPY_DELAY_MS", "200", 1));
	ctx = cu_start(0);
	EXPECT(ctx, "no GPU");
	fd = pin_open();
	lsi = lsi_open();
	EXPECT(fd >= 0 && lsi >= 0, "%d %d", fd, lsi);
	OK(cuMemAlloc(&dst, SIZE));
	OK(cuMemAlloc(&src, SIZE));
	OK(pin_at(fd, dst, SIZE, &pin));
	gpu_region = pin.out_region;
	seen = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	EXPECT(seen != MAP_FAILED, "mmap");
	OK(pin_at(fd, (uintptr_t)seen, SIZE, &pin));
	host_region = pin.out_region;
}

/* The byte that the peer reads everywhere in @dst; -1 if the bytes are not equal or the copy fails. */
static int peer_reads(void)
{
	const struct end to = { fd, host_region, 0 }, from = { fd, gpu_region, 0 };

	memset(seen, 0, SIZE);
	if (lsi_copy(lsi, to, from, SIZE))
		return -1;
	return memcmp(seen, seen + 1, SIZE - 1) ? -1 : seen[0];
}

static int sync_memops(CUdeviceptr p, int on)
{
	return cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, p);
}

/* Store OLD in @dst and NEW in @src, and wait for both. */
static void prepare(void)
{
	OK(sync_memops(dst, 0));
	OK(sync_memops(src, 0));
	OK(cuMemsetD8(dst, OLD, SIZE));
	OK(cuMemsetD8(src, NEW, SIZE));
	OK(cuCtxSynchronize());
	EXPECT(peer_reads() == OLD, "the peer does not read OLD");
}

static void expect_stale(void)
{
	int first = peer_reads();

	EXPECT(first == OLD, "the peer read %#x before the delayed copy", first);
	OK(cuCtxSynchronize());
	EXPECT(peer_reads() == NEW, "the peer does not read NEW after cuCtxSynchronize()");
}

CASE(copy_without_sync_memops_is_stale)
{
	uint64_t start;

	prepare();
	CHECK_CASE();
	start = now_ns();
	OK(cuMemcpyDtoD(dst, src, SIZE));
	EXPECT(now_ns() - start < DELAY_MS * 1000000ull, "the call waited");
	expect_stale();
}

CASE(memset_without_sync_memops_is_stale)
{
	prepare();
	CHECK_CASE();
	OK(cuMemsetD8(dst, NEW, SIZE));
	expect_stale();
}

CASE(sync_memops_of_destination_is_fresh)
{
	prepare();
	CHECK_CASE();
	OK(sync_memops(dst, 1));
	OK(cuMemcpyDtoD(dst, src, SIZE));
	EXPECT(peer_reads() == NEW, "stale");
}

CASE(sync_memops_of_source_is_fresh)
{
	prepare();
	CHECK_CASE();
	OK(sync_memops(src, 1));
	OK(cuMemcpyDtoD(dst, src, SIZE));
	EXPECT(peer_reads() == NEW, "stale");
}

CASE(sync_memops_makes_memset_synchronous)
{
	prepare();
	CHECK_CASE();
	OK(sync_memops(dst, 1));
	OK(cuMemsetD8(dst, NEW, SIZE));
	EXPECT(peer_reads() == NEW, "stale");
}

CASE(context_flag_covers_all_memory)
{
	prepare();
	CHECK_CASE();
	OK(cuCtxSetFlags(CU_CTX_SYNC_MEMOPS));
	OK(cuMemcpyDtoD(dst, src, SIZE));
	OK(cuCtxSetFlags(0));
	EXPECT(peer_reads() == NEW, "stale");
}

CASE(reading_the_tokens_sets_sync_memops)
{
	CUDA_POINTER_ATTRIBUTE_P2P_TOKENS tokens;

	prepare();
	CHECK_CASE();
	OK(cuPointerGetAttribute(&tokens, CU_POINTER_ATTRIBUTE_P2P_TOKENS, dst));
	OK(cuMemcpyDtoD(dst, src, SIZE));
	EXPECT(peer_reads() == NEW, "stale");
}

/* ---- work in flight when SYNC_MEMOPS is set ------------------------------------------ */

CASE(setting_waits_for_a_running_copy)
{
	prepare();
	CHECK_CASE();
	OK(cuMemcpyDtoD(dst, src, SIZE));
	OK(sync_memops(dst, 1));
	EXPECT(peer_reads() == NEW, "stale");
}

CASE(setting_on_source_waits_too)
{
	prepare();
	CHECK_CASE();
	OK(cuMemcpyDtoD(dst, src, SIZE));
	OK(sync_memops(src, 1));
	EXPECT(peer_reads() == NEW, "stale");
}

CASE(setting_waits_for_memset)
{
	prepare();
	CHECK_CASE();
	OK(cuMemsetD8(dst, NEW, SIZE));
	OK(sync_memops(dst, 1));
	EXPECT(peer_reads() == NEW, "stale");
}

CASE(reading_the_tokens_waits_for_copy)
{
	CUDA_POINTER_ATTRIBUTE_P2P_TOKENS tokens;

	prepare();
	CHECK_CASE();
	OK(cuMemcpyDtoD(dst, src, SIZE));
	OK(cuPointerGetAttribute(&tokens, CU_POINTER_ATTRIBUTE_P2P_TOKENS, dst));
	EXPECT(peer_reads() == NEW, "stale");
}

CASE(setting_ignores_other_memory)
{
	CUdeviceptr other;

	OK(cuMemAlloc(&other, SIZE));
	prepare();
	CHECK_CASE();
	OK(cuMemcpyDtoD(dst, src, SIZE));
	OK(sync_memops(other, 1));
	expect_stale();
	OK(cuMemFree(other));
}

CASE(setting_ignores_async_copies)
{
	prepare();
	CHECK_CASE();
	OK(cuMemcpyDtoDAsync(dst, src, SIZE, NULL));
	OK(sync_memops(dst, 1));
	expect_stale();
}

CASE(clearing_waits_for_nothing)
{
	prepare();
	CHECK_CASE();
	OK(cuMemcpyDtoD(dst, src, SIZE));
	OK(sync_memops(dst, 0));
	expect_stale();
}

/* SYNC_MEMOPS must affect synchronous calls only. */
CASE(async_copies_stay_asynchronous)
{
	prepare();
	CHECK_CASE();
	OK(sync_memops(dst, 1));
	OK(cuMemcpyDtoDAsync(dst, src, SIZE, NULL));
	expect_stale();
}

CASE(host_copies_are_synchronous)
{
	static unsigned char data[SIZE];

	prepare();
	CHECK_CASE();
	memset(data, NEW, SIZE);
	OK(cuMemcpyHtoD(dst, data, SIZE));
	EXPECT(peer_reads() == NEW, "stale");
}

/* The delays of queued work must overlap. */
CASE(delays_of_queued_work_overlap)
{
	uint64_t start = now_ns();

	for (int i = 0; i < 4; i++)
		OK(cuMemsetD8Async(dst, i, SIZE, NULL));
	OK(cuStreamSynchronize(NULL));
	EXPECT(now_ns() - start >= DELAY_MS * 1000000ull, "%lu ns", now_ns() - start);
	EXPECT(peer_reads() == 3, "the last memset did not run last");
}

VMTEST_MAIN
