// SPDX-License-Identifier: MIT
/* libgdrapi on an integrated GPU: host memory that the GPU maps, cached and write-combined. */
#include "gdr.h"

enum {
	SIZE = 1 << 20,
};

static gdr_t g;
static int gpu = -1;
static unsigned char bytes[SIZE], seen[SIZE];

SETUP(everything_is_there)
{
	int persistent = -1;

	EXPECT(cu_start(0), "no GPU");
	gpu = emu_open();
	g = gdr_open();
	EXPECT(gpu >= 0 && g && !view_catch(), "gpu %d, gdr_open: %s", gpu, strerror(errno));
	EXPECT(!gdr_get_attribute(g, GDR_ATTR_USE_PERSISTENT_MAPPING, &persistent) && !persistent, "%d", persistent);
	pattern_fill(bytes, 1, SIZE);
}

static void check_memory(unsigned int flags, gdr_mapping_type_t want)
{
	unsigned char *own;
	struct mapped m;
	gdr_info_t info;
	int flag = -1, ret;

	OK(cuMemHostAlloc((void **)&own, SIZE, flags | CU_MEMHOSTALLOC_DEVICEMAP));
	ret = gdr_get(g, (uintptr_t)own + PAGE, SIZE - PAGE, &m);
	EXPECT(!ret, "pin or map: %d", ret);
	EXPECT(!gdr_get_info(g, m.mh, &info) && info.mapping_type == want, "mapped as %d", info.mapping_type);
	EXPECT(info.page_size == PAGE && info.mapped_size == SIZE - PAGE, "%u %lu", info.page_size, info.mapped_size);
	EXPECT(!gdr_copy_to_mapping(m.mh, m.view + 3, bytes, SIZE / 2), "to");
	EXPECT(!memcmp(own + PAGE + 3, bytes, SIZE / 2), "other bytes");
	EXPECT(!gdr_copy_from_mapping(m.mh, seen, m.view + 3, SIZE / 2), "from");
	EXPECT(!memcmp(seen, bytes, SIZE / 2), "other bytes come back");
	OK(cuMemFreeHost(own));
	EXPECT(!gdr_get_callback_flag(g, m.mh, &flag) && flag == 1, "%d", flag);
	EXPECT(view_is(m.view, SIZE - PAGE, SIGBUS), "freed memory can be touched");
	EXPECT(!gdr_put(&m), "put");
}

CASE(cached_memory_is_mapped_cached)
{
	check_memory(0, GDR_MAPPING_TYPE_CACHING);
}

CASE(write_combined_memory_is_mapped_wc)
{
	check_memory(CU_MEMHOSTALLOC_WRITECOMBINED, GDR_MAPPING_TYPE_WC);
}

CASE(pin_with_tokens_is_refused)
{
	unsigned char *own;
	gdr_mh_t mh;

	OK(cuMemHostAlloc((void **)&own, SIZE, CU_MEMHOSTALLOC_DEVICEMAP));
	EXPECT(gdr_pin_buffer(g, (uintptr_t)own, SIZE, 1, 1, &mh) == EINVAL, "pinned");
	OK(cuMemFreeHost(own));
}

CASE(nothing_is_left)
{
	EXPECT(!gdr_close(g), "close");
	EXPECT(pins_left(gpu) == 0, "%u pins", pins_left(gpu));
}

VMTEST_MAIN
