// SPDX-License-Identifier: MIT
/*
 * What SYNC_MEMOPS is for: a copy between two places of GPU memory returns
 * before its bytes have moved, and a peer device that reads then finds the old
 * ones. The emulated copy engine is told to wait so long that a peer without
 * it always does. Memory is pinned with the bare call: the library would set
 * the attribute itself.
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
static unsigned char *seen;		/* where the peer writes */
static int fd, lsi;
static uint32_t gpu_region, host_region;

SETUP(there_are_a_gpu_and_a_peer)
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

/* What the peer finds in @dst, all of it: one byte, or -1 if they differ or it cannot read */
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

/* OLD in @dst and NEW in @src, for certain */
static void prepare(void)
{
	OK(sync_memops(dst, 0));
	OK(sync_memops(src, 0));
	OK(cuMemsetD8(dst, OLD, SIZE));
	OK(cuMemsetD8(src, NEW, SIZE));
	OK(cuCtxSynchronize());
	EXPECT(peer_reads() == OLD, "the peer does not read what is there");
}

static void expect_stale(void)
{
	int first = peer_reads();

	EXPECT(first == OLD, "the peer read %#x at once", first);
	OK(cuCtxSynchronize());
	EXPECT(peer_reads() == NEW, "not even later");
}

CASE(without_sync_memops_a_peer_reads_stale_data)
{
	uint64_t start;

	prepare();
	CHECK_CASE();
	start = now_ns();
	OK(cuMemcpyDtoD(dst, src, SIZE));
	EXPECT(now_ns() - start < DELAY_MS * 1000000ull, "the call waited");
	expect_stale();
}

CASE(without_sync_memops_a_peer_reads_what_was_there_before_memset)
{
	prepare();
	CHECK_CASE();
	OK(cuMemsetD8(dst, NEW, SIZE));
	expect_stale();
}

CASE(with_sync_memops_of_the_destination_a_peer_reads_fresh_data)
{
	prepare();
	CHECK_CASE();
	OK(sync_memops(dst, 1));
	OK(cuMemcpyDtoD(dst, src, SIZE));
	EXPECT(peer_reads() == NEW, "stale");
}

CASE(with_sync_memops_of_the_source_a_peer_reads_fresh_data)
{
	prepare();
	CHECK_CASE();
	OK(sync_memops(src, 1));
	OK(cuMemcpyDtoD(dst, src, SIZE));
	EXPECT(peer_reads() == NEW, "stale");
}

CASE(with_sync_memops_memset_is_over_when_it_returns)
{
	prepare();
	CHECK_CASE();
	OK(sync_memops(dst, 1));
	OK(cuMemsetD8(dst, NEW, SIZE));
	EXPECT(peer_reads() == NEW, "stale");
}

CASE(a_context_can_have_it_for_all_its_memory)
{
	prepare();
	CHECK_CASE();
	OK(cuCtxSetFlags(CU_CTX_SYNC_MEMOPS));
	OK(cuMemcpyDtoD(dst, src, SIZE));
	OK(cuCtxSetFlags(0));
	EXPECT(peer_reads() == NEW, "stale");
}

CASE(who_reads_the_tokens_has_set_it)
{
	CUDA_POINTER_ATTRIBUTE_P2P_TOKENS tokens;

	prepare();
	CHECK_CASE();
	OK(cuPointerGetAttribute(&tokens, CU_POINTER_ATTRIBUTE_P2P_TOKENS, dst));
	OK(cuMemcpyDtoD(dst, src, SIZE));
	EXPECT(peer_reads() == NEW, "stale");
}

/* ---- what is on its way when it is set ------------------------------------------ */

CASE(who_sets_it_waits_for_a_copy_that_has_begun)
{
	prepare();
	CHECK_CASE();
	OK(cuMemcpyDtoD(dst, src, SIZE));
	OK(sync_memops(dst, 1));
	EXPECT(peer_reads() == NEW, "stale");
}

CASE(who_sets_it_of_the_source_waits_too)
{
	prepare();
	CHECK_CASE();
	OK(cuMemcpyDtoD(dst, src, SIZE));
	OK(sync_memops(src, 1));
	EXPECT(peer_reads() == NEW, "stale");
}

CASE(who_sets_it_waits_for_memset)
{
	prepare();
	CHECK_CASE();
	OK(cuMemsetD8(dst, NEW, SIZE));
	OK(sync_memops(dst, 1));
	EXPECT(peer_reads() == NEW, "stale");
}

CASE(who_reads_the_tokens_waits_for_a_copy_that_has_begun)
{
	CUDA_POINTER_ATTRIBUTE_P2P_TOKENS tokens;

	prepare();
	CHECK_CASE();
	OK(cuMemcpyDtoD(dst, src, SIZE));
	OK(cuPointerGetAttribute(&tokens, CU_POINTER_ATTRIBUTE_P2P_TOKENS, dst));
	EXPECT(peer_reads() == NEW, "stale");
}

CASE(who_sets_it_waits_for_no_other_memory)
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

CASE(who_sets_it_waits_for_no_async_copy)
{
	prepare();
	CHECK_CASE();
	OK(cuMemcpyDtoDAsync(dst, src, SIZE, NULL));
	OK(sync_memops(dst, 1));
	expect_stale();
}

CASE(who_clears_it_waits_for_nothing)
{
	prepare();
	CHECK_CASE();
	OK(cuMemcpyDtoD(dst, src, SIZE));
	OK(sync_memops(dst, 0));
	expect_stale();
}

/* The attribute is about calls that would else be synchronous. */
CASE(async_copies_stay_asynchronous)
{
	prepare();
	CHECK_CASE();
	OK(sync_memops(dst, 1));
	OK(cuMemcpyDtoDAsync(dst, src, SIZE, NULL));
	expect_stale();
}

CASE(copies_from_the_host_are_over_when_they_return)
{
	static unsigned char data[SIZE];

	prepare();
	CHECK_CASE();
	memset(data, NEW, SIZE);
	OK(cuMemcpyHtoD(dst, data, SIZE));
	EXPECT(peer_reads() == NEW, "stale");
}

/* Two at once wait together, not one after the other. */
CASE(the_delay_is_that_of_each_piece_of_work)
{
	uint64_t start = now_ns();

	for (int i = 0; i < 4; i++)
		OK(cuMemsetD8Async(dst, i, SIZE, NULL));
	OK(cuStreamSynchronize(NULL));
	EXPECT(now_ns() - start >= DELAY_MS * 1000000ull, "%lu ns", now_ns() - start);
	EXPECT(peer_reads() == 3, "the last one was not last");
}

VMTEST_MAIN
