// SPDX-License-Identifier: MIT
/*
 * A cache of dma-bufs for memory of several cuMemMap() handles side by side, as PyTorch's expandable
 * segments are. The driver exports such a range as one dma-buf. Needs a driver that maps dma-bufs (610).
 */
#include <errno.h>
#include <linux/types.h>
#include <peerpin.h>
#include <sys/mman.h>

#include <libpeerpin.h>
#include "test/vm/cuda/vmm.h"

static struct pp_cache *cache;
static struct pp_why why;

static void map_one(CUdeviceptr at, bool rdma, unsigned char byte)
{
	CUmemGenericAllocationHandle h;
	CUmemAllocationProp p = prop(rdma);

	OK(cuMemCreate(&h, unit, &p, 0));
	OK(cuMemMap(at, unit, 0, h, 0));
	OK(cuMemRelease(h));
	OK(cuMemSetAccess(at, unit, &readwrite, 1));
	OK(cuMemsetD8(at, byte, unit));
	OK(cuCtxSynchronize());
}

static void set_up_handles(void)
{
	set_up();
	map_one(va, true, 1);
	map_one(va + unit, false, 2);
	map_one(va + 2 * unit, true, 3);
}

/* Each unit of the dma-buf of [@from, @from + @length) must hold the byte of its handle. */
static void expect_bytes(CUdeviceptr from, size_t length, const unsigned char *want)
{
	const struct pp_cache_entry *e;
	const struct pp_dmabuf *d;
	unsigned char *view;
	size_t i;
	int ret = pp_cache_get(cache, (void *)from, length, &e, &why);

	EXPECT(!ret, "get: %d, reason %u", ret, why.reason);
	d = e->reg;
	EXPECT(d->addr <= from && d->addr + d->length >= from + length, "%#lx + %#lx", d->addr, d->length);
	view = mmap(NULL, d->length, PROT_READ, MAP_SHARED, d->fd, 0);
	EXPECT(view != MAP_FAILED, "mmap: %d", errno);
	for (i = 0; i < d->length; i += 4096)
		EXPECT(view[i] == want[(d->addr + i - va) / unit], "%#lx + %#zx: %u", d->addr, i, view[i]);
	munmap(view, d->length);
	pp_cache_put(cache, e);
}

static struct pp_cache_stats stats(void)
{
	struct pp_cache_stats s;

	pp_cache_stats(cache, &s);
	return s;
}

static void expect_stats(uint64_t hits, uint64_t misses, uint64_t revocations)
{
	struct pp_cache_stats s = stats();

	EXPECT(s.hits == hits && s.misses == misses && s.revocations == revocations,
	       "%lu hits, %lu misses, %lu revocations", s.hits, s.misses, s.revocations);
}

static void start(void)
{
	static const struct pp_cache_attr tag = { .watch = PP_WATCH_TAG };

	EXPECT(!pp_cache_create_dmabuf(&tag, &cache), "no cache");
	set_up_handles();
}

static void stop(void)
{
	pp_cache_destroy(cache);
	tear_down();
}

SETUP(there_is_a_gpu)
{
	vmm_start();
}

CASE(one_entry_spans_handles)
{
	start();
	CHECK_CASE();
	expect_bytes(va + unit - 100, unit + 200, (const unsigned char[]) { 1, 2, 3 });
	expect_bytes(va, 3 * unit, (const unsigned char[]) { 1, 2, 3 });
	expect_bytes(va + 2 * unit, unit, (const unsigned char[]) { 1, 2, 3 });
	expect_stats(2, 1, 0);
	stop();
}

/* Unmapped and mapped again, as a segment that shrinks and grows: never the old memory at the old address */
CASE(remapped_handle_gets_another_entry)
{
	start();
	CHECK_CASE();
	expect_bytes(va, 3 * unit, (const unsigned char[]) { 1, 2, 3 });
	OK(cuMemUnmap(va + unit, unit));
	map_one(va + unit, true, 9);
	CHECK_CASE();
	expect_bytes(va, 3 * unit, (const unsigned char[]) { 1, 9, 3 });
	expect_stats(0, 2, 1);
	stop();
}

CASE(segment_may_grow)
{
	start();
	CHECK_CASE();
	expect_bytes(va, 3 * unit, (const unsigned char[]) { 1, 2, 3 });
	map_one(va + 3 * unit, true, 4);
	CHECK_CASE();
	expect_bytes(va + unit, 3 * unit, (const unsigned char[]) { 1, 2, 3, 4 });
	stop();
}

CASE(unmapped_part_is_refused)
{
	const struct pp_cache_entry *e;

	start();
	CHECK_CASE();
	IS(pp_cache_get(cache, (void *)va, 4 * unit, &e, &why), -EINVAL);
	EXPECT(why.reason == PEERPIN_REASON_VENDOR_REFUSED, "reason %u", why.reason);
	OK(cuMemUnmap(va + unit, unit));
	IS(pp_cache_get(cache, (void *)va, 3 * unit, &e, &why), -EINVAL);
	expect_bytes(va + 2 * unit, unit, (const unsigned char[]) { 1, 2, 3 });
	stop();
}

VMTEST_MAIN
