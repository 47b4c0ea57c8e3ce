// SPDX-License-Identifier: MIT
/* libgdrapi by dma-bufs of the GPU's driver, which plays 610, and both ways to memory of coherent GPUs. */
#include <sys/wait.h>
#include "gdr.h"

enum {
	SIZE = 4 << 20,
};

static gdr_t g;
static int gpu = -1;
static CUdeviceptr mem;
static unsigned char bytes[SIZE], seen[SIZE];

static int attribute(gdr_attr_t attr)
{
	int value = -1;

	return gdr_get_attribute(g, attr, &value) ? -1 : value;
}

SETUP(everything_is_there)
{
	EXPECT(cu_start(0), "no GPU");
	gpu = emu_open();
	setenv("GDRCOPY_USE_DMABUF_MMAP", "1", 1);
	g = gdr_open();
	EXPECT(gpu >= 0 && g && !view_catch(), "gpu %d, gdr_open: %s", gpu, strerror(errno));
	OK(cuMemAlloc(&mem, SIZE));
	pattern_fill(bytes, 1, SIZE);
}

CASE(attributes_say_so)
{
	EXPECT(attribute(GDR_ATTR_USING_DMA_BUF_MMAP) == 1, "not by dma-bufs");
	EXPECT(attribute(GDR_ATTR_USE_PERSISTENT_MAPPING) == 1, "not persistent");
	EXPECT(attribute(GDR_ATTR_SUPPORT_PIN_FLAG_FORCE_PCIE) == 1, "no FORCE_PCIE");
	EXPECT(*(int *)g == -1, "the handle has descriptor %d", *(int *)g);
}

/* The variable is not needed where peerpin.ko is absent. */
CASE(absent_module_is_replaced)
{
	bool absent = access("/dev/peerpin", F_OK);
	gdr_t own;
	int value = -1;

	unsetenv("GDRCOPY_USE_DMABUF_MMAP");
	own = gdr_open();
	setenv("GDRCOPY_USE_DMABUF_MMAP", "1", 1);
	EXPECT(own && !gdr_get_attribute(own, GDR_ATTR_USING_DMA_BUF_MMAP, &value), "%s", strerror(errno));
	EXPECT(value == absent, "%d", value);
	EXPECT(!gdr_close(own), "close");
}

static void check_range(size_t from, size_t size)
{
	struct mapped m;
	gdr_info_t info;
	unsigned char *at;
	int ret = gdr_get(g, mem + from, size, &m);

	EXPECT(!ret && !gdr_get_info(g, m.mh, &info), "0x%zx, %zu bytes: %d", from, size, ret);
	CHECK_CASE();
	EXPECT(info.va == ((mem + from) & -(CUdeviceptr)PAGE) && info.page_size == PAGE, "va 0x%lx", info.va);
	EXPECT(info.va + info.mapped_size >= mem + from + size, "%lu bytes", info.mapped_size);
	at = m.view + (mem + from - info.va);
	EXPECT(!gdr_copy_from_mapping(m.mh, seen, at, size) && !memcmp(seen, bytes + from, size), "other bytes are read");
	pattern_fill(bytes + from, (unsigned int)size, size);
	EXPECT(!gdr_copy_to_mapping(m.mh, at, bytes + from, size), "copy");
	EXPECT(!gdr_put(&m), "put");
	OK(cuMemcpyDtoH(seen, mem, SIZE));
	EXPECT(!memcmp(seen, bytes, SIZE), "0x%zx, %zu bytes: the GPU has other bytes", from, size);
}

CASE(ranges_are_mapped)
{
	OK(cuMemcpyHtoD(mem, bytes, SIZE));
	check_range(0, SIZE);
	check_range(0, 1);
	check_range(PAGE, 2 * PAGE);
	check_range(5 * PAGE + 100, 3 * PAGE);
	check_range(GPU_PAGE - 4, 8);
	check_range(SIZE - 1, 1);
}

CASE(bad_ranges_are_refused)
{
	CUdeviceptr freed;
	gdr_mh_t mh;

	OK(cuMemAlloc(&freed, SIZE));
	OK(cuMemFree(freed));
	EXPECT(gdr_pin_buffer(g, mem, SIZE + 1, 0, 0, &mh) == EINVAL, "past the end");
	EXPECT(gdr_pin_buffer(g, mem, 0, 0, 0, &mh) == EINVAL, "nothing");
	EXPECT(gdr_pin_buffer(g, (uintptr_t)bytes, PAGE, 0, 0, &mh) == EOPNOTSUPP, "host memory");
	EXPECT(gdr_pin_buffer(g, freed, PAGE, 0, 0, &mh) == EOPNOTSUPP, "freed memory");
	EXPECT(gdr_pin_buffer_v2(g, mem, PAGE, 2, &mh) == EINVAL, "unknown flag");
}

CASE(freed_memory_stays_until_unpinned)
{
	CUdeviceptr big;
	struct mapped m;
	int flag = -1;

	OK(cuMemAlloc(&big, SIZE));
	OK(cuMemcpyHtoD(big, bytes, SIZE));
	EXPECT(!gdr_get(g, big, SIZE, &m), "get");
	CHECK_CASE();
	OK(cuMemFree(big));
	EXPECT(!memcmp(m.view, bytes, SIZE), "the bytes are gone");
	EXPECT(!gdr_get_callback_flag(g, m.mh, &flag) && !flag, "%d", flag);
	EXPECT(!gdr_unpin_buffer(g, m.mh), "unpin of what is mapped");
	EXPECT(view_is(m.view, SIZE, SIGSEGV), "still mapped");
}

/* The parent's dma-buf must not stay open in the child. */
static int child_has(int expected)
{
	int i, open = 0;

	for (i = 3; i < 64; i++) {
		char path[64], target[64] = "";

		snprintf(path, sizeof(path), "/proc/self/fd/%d", i);
		open += readlink(path, target, sizeof(target) - 1) > 0 && strstr(target, "dmabuf");
	}
	return open != expected;
}

CASE(child_closes_its_copies)
{
	struct mapped m;
	gdr_mh_t mh;
	pid_t child;
	int status = -1;

	EXPECT(!gdr_get(g, mem, SIZE, &m), "get");
	CHECK_CASE();
	child = fork();
	if (!child) {
		if (child_has(1) || gdr_pin_buffer(g, mem, PAGE, 0, 0, &mh) != EACCES || !view_is(m.view, SIZE, SIGSEGV))
			_exit(1);
		_exit(gdr_close(g) ? 2 : child_has(0) ? 3 : 0);
	}
	EXPECT(child > 0 && waitpid(child, &status, 0) == child && !status, "status %#x", status);
	EXPECT(!memcmp(m.view, bytes, SIZE), "the parent's mapping is gone");
	EXPECT(!gdr_put(&m), "put");
}

/* ---- the two ways to memory of a coherent GPU -------------------------------------------- */

static gdr_mapping_type_t type_of(const struct mapped *m)
{
	gdr_info_t info;

	return gdr_get_info(m->g, m->mh, &info) ? GDR_MAPPING_TYPE_MAX : info.mapping_type;
}

static bool is_coherent(void)
{
	int value = 0;

	return !cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES, 0) && value;
}

static void check_type(gdr_t by, unsigned int flags, gdr_mapping_type_t want)
{
	struct mapped m = { .g = by, .gpu = mem, .size = SIZE };
	void *view = NULL;
	int ret = gdr_pin_buffer_v2(by, mem, SIZE, flags, &m.mh);

	EXPECT(!ret, "pin: %d", ret);
	CHECK_CASE();
	if (by == g || want == GDR_MAPPING_TYPE_WC)
		EXPECT(gdr_map_v2(by, m.mh, &view, SIZE, want == GDR_MAPPING_TYPE_WC ? GDR_MAP_FLAG_REQ_CACHE_MAPPING :
				  GDR_MAP_FLAG_REQ_WC_MAPPING) == EOPNOTSUPP, "mapped with another type");
	EXPECT(!gdr_map_v2(by, m.mh, &view, SIZE, (int)want) && type_of(&m) == want, "type %d", type_of(&m));
	EXPECT(!memcmp(view, bytes, SIZE), "other bytes");
	EXPECT(!gdr_unpin_buffer(by, m.mh), "unpin");
}

CASE(default_is_the_drivers_choice)
{
	OK(cuMemcpyHtoD(mem, bytes, SIZE));
	check_type(g, GDR_PIN_FLAG_DEFAULT, is_coherent() ? GDR_MAPPING_TYPE_CACHING : GDR_MAPPING_TYPE_WC);
}

CASE(force_pcie_is_write_combined)
{
	gdr_mh_t mh;

	if (is_coherent())
		check_type(g, GDR_PIN_FLAG_FORCE_PCIE, GDR_MAPPING_TYPE_WC);
	else
		EXPECT(gdr_pin_buffer_v2(g, mem, SIZE, GDR_PIN_FLAG_FORCE_PCIE, &mh) == EOPNOTSUPP, "pinned");
}

static uint64_t bar1_used(void)
{
	struct emugpu_info info = { 0 };

	return emu_info(gpu, 0, &info) ? UINT64_MAX : info.out_bar1_used;
}

static void expect_map(struct mapped *m, int flags, gdr_mapping_type_t want)
{
	void *view = NULL;

	EXPECT(!gdr_map_v2(m->g, m->mh, &view, SIZE, flags) && type_of(m) == want, "%d: type %d", flags, type_of(m));
	m->view = view;
	EXPECT(!memcmp(m->view, bytes, SIZE), "%d: other bytes", flags);
}

/* By peerpin.ko each handle of a coherent GPU's memory is cached or write-combined, as its mapping asks. */
static void check_both_types(gdr_t own)
{
	struct mapped cached = { .g = own, .gpu = mem, .size = SIZE }, combined = cached;
	uint64_t before = bar1_used();
	void *view;

	EXPECT(!gdr_pin_buffer(own, mem, SIZE, 0, 0, &cached.mh) && !gdr_pin_buffer(own, mem, SIZE, 0, 0, &combined.mh), "pin");
	expect_map(&combined, GDR_MAP_FLAG_REQ_WC_MAPPING, GDR_MAPPING_TYPE_WC);
	expect_map(&cached, GDR_MAP_FLAG_REQ_CACHE_MAPPING, GDR_MAPPING_TYPE_CACHING);
	CHECK_CASE();
	EXPECT(bar1_used() == before + SIZE, "%lu bytes of BAR1", bar1_used() - before);
	memset(combined.view, 0x5a, 64);
	EXPECT(cached.view[63] == 0x5a, "written by the other handle: %#x", cached.view[63]);
	memcpy(cached.view, bytes, 64);
	EXPECT(gdr_map_v2(own, combined.mh, &view, SIZE, GDR_MAP_FLAG_REQ_CACHE_MAPPING) == EAGAIN, "mapped twice");
	EXPECT(!gdr_unmap(own, combined.mh, combined.view, SIZE), "unmap");
	expect_map(&combined, GDR_MAP_FLAG_DEFAULT, GDR_MAPPING_TYPE_CACHING);
	CHECK_CASE();
	EXPECT(bar1_used() == before, "%lu bytes of BAR1", bar1_used() - before);
	EXPECT(!gdr_unpin_buffer(own, combined.mh) && !gdr_unpin_buffer(own, cached.mh), "unpin");
}

/* Of a coherent GPU, only a pin by PCIe takes BAR1. */
CASE(peerpin_knows_both_ways)
{
	uint64_t before = bar1_used();
	int ret, value = -1;
	gdr_mh_t mh;
	gdr_t own;

	unsetenv("GDRCOPY_USE_DMABUF_MMAP");
	own = gdr_open();
	setenv("GDRCOPY_USE_DMABUF_MMAP", "1", 1);
	EXPECT(own && !gdr_get_attribute(own, GDR_ATTR_SUPPORT_PIN_FLAG_FORCE_PCIE, &value) && value == 1, "%d", value);
	CHECK_CASE();
	ret = gdr_pin_buffer_v2(own, mem, SIZE, GDR_PIN_FLAG_FORCE_PCIE, &mh);
	if (is_coherent()) {
		EXPECT(!ret && bar1_used() == before + SIZE, "%d, %lu bytes of BAR1", ret, bar1_used() - before);
		EXPECT(!gdr_unpin_buffer(own, mh), "unpin");
		check_type(own, GDR_PIN_FLAG_FORCE_PCIE, GDR_MAPPING_TYPE_WC);
		check_type(own, GDR_PIN_FLAG_DEFAULT, GDR_MAPPING_TYPE_CACHING);
		EXPECT(!gdr_pin_buffer(own, mem, SIZE, 0, 0, &mh), "pin");
		EXPECT(bar1_used() == before, "%lu bytes of BAR1", bar1_used() - before);
		EXPECT(!gdr_unpin_buffer(own, mh), "unpin");
		check_both_types(own);
	} else {
		EXPECT(ret == EOPNOTSUPP, "%d", ret);
	}
	EXPECT(!gdr_close(own), "close");
}

CASE(nothing_is_left)
{
	EXPECT(!gdr_close(g), "close");
	OK(cuMemFree(mem));
	EXPECT(!bar1_used() && !pins_left(gpu), "%lu bytes of BAR1", bar1_used());
}

VMTEST_MAIN
