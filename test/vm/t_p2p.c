// SPDX-License-Identifier: MIT
/*
 * The emulated driver's side of nv-p2p.h, row by row of what the real one
 * promises: pinning, accounting, DMA mappings.
 */
#include "p2p.h"

CASE(nodes_are_there)
{
	EXPECT(fd >= 0, "no /dev/emugpu; type: emu/vm/run --gpus 1 ...");
	EXPECT(check >= 0, "no /dev/p2p_check; type: emu/vm/run --insmod build/KERNEL/test/p2p_check.ko ...");
}

CASE(bad_arguments_leave_the_pointer_alone)
{
	struct p2p_check_call token = { .va = VA, .length = PAGE, .token = 1 };
	struct p2p_check_call space = { .va = VA, .length = PAGE, .va_space = 1 };

	two_blocks();
	CHECK_CASE();
	EXPECT(get_flags(0, VA, PAGE, P2P_CHECK_NO_CALLBACK) == -EINVAL, "no callback");
	EXPECT(version(0) == P2P_CHECK_UNTOUCHED, "%#x", version(0));
	EXPECT(get(0, VA + 4096, PAGE) == -EINVAL, "address");
	EXPECT(version(0) == P2P_CHECK_UNTOUCHED, "%#x", version(0));
	EXPECT(get(0, VA, 4096) == -EINVAL, "length");
	EXPECT(get(0, VA, 0) == -EINVAL, "length 0");
	EXPECT(version(0) == P2P_CHECK_UNTOUCHED, "%#x", version(0));
	EXPECT(call(P2P_CHECK_GET, token) == -EINVAL, "wrong token");
	EXPECT(call(P2P_CHECK_GET, space) == -EINVAL, "wrong token");
	free_both();
}

CASE(memory_that_cannot_be_pinned)
{
	uint64_t host = (uintptr_t)aligned_alloc(PAGE, PAGE);

	two_blocks();
	CHECK_CASE();
	EXPECT(get(0, VA - PAGE, PAGE) == -EINVAL, "unknown");
	EXPECT(get(0, host, PAGE) == -EINVAL, "host memory");
	EXPECT(get(0, VA + BLOCK - PAGE, 2 * PAGE) == -EINVAL, "past its block, into the next");
	EXPECT(get(0, VA, 2 * BLOCK) == -EINVAL, "two blocks");
	EXPECT(get(0, VA, -PAGE) == -EINVAL, "length that overflows");
	EXPECT(get(0, -PAGE, 2 * PAGE) == -EINVAL, "range that overflows");
	free_both();
	CHECK_CASE();
	EXPECT(get(0, VA, PAGE) == -EINVAL, "freed");
	free((void *)(uintptr_t)host);
}

CASE(a_late_failure_leaves_a_pointer_to_poison)
{
	EXPECT(get(0, VA, PAGE) == -EINVAL, "unknown memory");
	EXPECT(version(0) == 0x6b6b6b6b, "%#x", version(0));
}

CASE(a_page_table_is_right)
{
	struct emugpu_info info;
	struct emugpu_test test;
	struct p2p_check_table table;
	unsigned int i;

	two_blocks();
	CHECK_CASE();
	EXPECT(emu_info(fd, 0, &info) == 0, "info");
	EXPECT(get(0, VA + PAGE, 8 * PAGE) == 0, "get");
	for (i = 0; i < 8; i++) {
		table = table_page(0, i);
		EXPECT(table.out_version == 0x20000, "%#x", table.out_version);
		EXPECT(table.out_page_size == 1 && table.out_entries == 8 && !table.out_flags, "%u %u %#x",
		       table.out_page_size, table.out_entries, table.out_flags);
		EXPECT(!memcmp(table.out_uuid, info.out_uuid, 16), "uuid");
		EXPECT(emu_translate(fd, VA + (i + 1) * PAGE, &test) == 0, "translate");
		EXPECT(table.out_phys == test.translate.out_phys, "page %u: %#llx", i, table.out_phys);
	}
	EXPECT(counts().counts.out_pins == 1, "%u", counts().counts.out_pins);
	EXPECT(put(0) == 0, "put");
	EXPECT(callback(0).out_count == 0, "put ran the callback");
	free_both();
	CHECK_CASE();
	EXPECT(callback(0).out_count == 0, "free ran the callback of what was put");
}

static int pin_as_another(void)
{
	return get(1, VA, PAGE) == -EINVAL ? 0 : 1;
}

static int put_as_another(void)
{
	return put(0) == 0 ? 0 : 1;
}

CASE(another_process_can_neither_pin_nor_put)
{
	uint64_t before = violations();

	two_blocks();
	CHECK_CASE();
	EXPECT(emu_in_child(pin_as_another) == 0, "pinned memory of its parent");
	EXPECT(get(0, VA, PAGE) == 0, "get");
	EXPECT(emu_in_child(put_as_another) == 0, "put is not 0");
	EXPECT(counts().counts.out_pins == 1, "the put took effect");
	EXPECT(violations() == before + 1, "%lu", violations());
	EXPECT(put(0) == 0, "put");
	EXPECT(nothing_pinned(), "put did nothing");
	free_both();
}

CASE(put_twice_is_a_violation_and_harmless)
{
	uint64_t before = violations();

	two_blocks();
	CHECK_CASE();
	EXPECT(with_flags(P2P_CHECK_PUT, 0, P2P_CHECK_NULL_TABLE) == 0, "NULL");
	EXPECT(violations() == before, "NULL counted");
	EXPECT(get(0, VA, PAGE) == 0 && put(0) == 0, "get, put");
	EXPECT(version(0) == 0x6b6b6b6b, "%#x", version(0));
	EXPECT(put(0) == -EINVAL, "twice");
	EXPECT(violations() == before + 1, "%lu", violations());
	EXPECT(with_flags(P2P_CHECK_PUT, 0, P2P_CHECK_WILD_TABLE) == -EINVAL, "wild");
	EXPECT(map(0, 0) == -EINVAL, "map");
	EXPECT(unmap(0, 0) == -EINVAL, "map NULL");
	EXPECT(violations() == before + 3, "%lu", violations());
	free_both();
}

CASE(put_with_another_address_is_a_violation)
{
	struct p2p_check_call wrong = { .va = VA + PAGE };
	uint64_t before = violations();

	two_blocks();
	CHECK_CASE();
	EXPECT(get(0, VA, PAGE) == 0, "get");
	EXPECT(call(P2P_CHECK_PUT, wrong) == -EINVAL, "put");
	EXPECT(violations() == before + 1, "%lu", violations());
	EXPECT(put(0) == 0, "put");
	free_both();
}

CASE(bar1_is_limited)
{
	struct emugpu_info info;
	uint64_t room;

	EXPECT(emu_info(fd, 0, &info) == 0, "info");
	room = info.out_bar1_total - info.out_bar1_reserved;
	EXPECT(emu_alloc(fd, VA, info.out_vram_total) == 0, "alloc");
	EXPECT(get(0, VA, room + PAGE) == -ENOMEM, "a page too many");
	EXPECT(version(0) == 0x6b6b6b6b, "%#x", version(0));
	EXPECT(bar1_used() == 0, "%lu", bar1_used());
	EXPECT(get(0, VA, room) == 0, "all there is");
	EXPECT(bar1_used() == room, "%lu", bar1_used());
	EXPECT(get(1, VA + room, PAGE) == -ENOMEM, "one more");
	EXPECT(put(0) == 0, "put");
	EXPECT(get(1, VA + room, PAGE) == 0 && put(1) == 0, "after put");
	EXPECT(emu_free(fd, VA) == 0, "free");
	EXPECT(nothing_pinned(), "%lu", bar1_used());
}

CASE(overlapping_pins_share)
{
	two_blocks();
	CHECK_CASE();
	EXPECT(get(0, VA, 16 * PAGE) == 0, "get");
	EXPECT(get(1, VA + 8 * PAGE, 16 * PAGE) == 0, "get");
	EXPECT(get(2, VA, 16 * PAGE) == 0, "get");
	EXPECT(bar1_used() == 24 * PAGE, "%lu", bar1_used());
	EXPECT(table_page(0, 8).out_phys == table_page(1, 0).out_phys, "other addresses");
	EXPECT(put(0) == 0 && bar1_used() == 24 * PAGE, "%lu", bar1_used());
	EXPECT(put(2) == 0 && bar1_used() == 16 * PAGE, "%lu", bar1_used());
	EXPECT(put(1) == 0 && bar1_used() == 0, "%lu", bar1_used());
	free_both();
}

CASE(maps_that_are_left_are_undone)
{
	uint64_t before = violations();

	two_blocks();
	CHECK_CASE();
	EXPECT(get(0, VA, 4 * PAGE) == 0 && get(1, VA, PAGE) == 0, "get");
	EXPECT(map(0, 0) == 0 && map(0, 1) == 0 && map(1, 0) == 0, "map");
	EXPECT(counts().counts.out_dma_maps == 3, "%u", counts().counts.out_dma_maps);
	EXPECT(put(1) == 0 && counts().counts.out_dma_maps == 2, "put: %u", counts().counts.out_dma_maps);
	free_both();
	CHECK_CASE();
	EXPECT(violations() == before, "%lu", violations());
	EXPECT(unmap(0, 0) == 0, "unmap after the callback");
	EXPECT(violations() == before + 1, "%lu", violations());
}

CASE(maps_come_and_go)
{
	two_blocks();
	CHECK_CASE();
	EXPECT(get(0, VA, 4 * PAGE) == 0, "get");
	EXPECT(with_flags(P2P_CHECK_MAP, 0, P2P_CHECK_NULL_TABLE) == -EINVAL, "NULL");
	EXPECT(map(0, 0) == 0 && map(0, 1) == 0, "map");
	EXPECT(with_flags(P2P_CHECK_UNMAP, 0, P2P_CHECK_NULL_TABLE) == -EINVAL, "NULL");
	EXPECT(with_flags(P2P_CHECK_UNMAP, 0, P2P_CHECK_WILD_MAP) == 0, "not on the list");
	EXPECT(counts().counts.out_dma_maps == 2, "%u", counts().counts.out_dma_maps);
	EXPECT(unmap(0, 0) == 0 && unmap(0, 1) == 0, "unmap");
	EXPECT(counts().counts.out_dma_maps == 0, "%u", counts().counts.out_dma_maps);
	EXPECT(put(0) == 0, "put");
	free_both();
}

static bool translated(void)
{
	return access("/sys/class/iommu/dmar0", F_OK) == 0;
}

CASE(bus_addresses_are_the_iommus_if_there_is_one)
{
	struct p2p_check_table page;
	unsigned int i;

	two_blocks();
	CHECK_CASE();
	EXPECT(get(0, VA, BLOCK) == 0 && map(0, 0) == 0, "get, map");
	for (i = 0; i < BLOCK / PAGE; i++) {
		page = table_page(0, i);
		EXPECT(page.out_bus, "page %u: none", i);
		EXPECT((page.out_bus != page.out_phys) == translated(), "page %u: bus %#llx, physical %#llx", i,
		       page.out_bus, page.out_phys);
	}
	EXPECT(unmap(0, 0) == 0 && put(0) == 0, "unmap, put");
	free_both();
}

CASE(failures_can_be_ordered)
{
	two_blocks();
	CHECK_CASE();
	EXPECT(emu_fail(fd, 2, -EIO) == 0, "order");
	EXPECT(get(0, VA, PAGE) == 0, "first");
	EXPECT(get(1, VA, PAGE) == -EIO, "second");
	EXPECT(version(1) == 0x6b6b6b6b, "%#x", version(1));
	EXPECT(get(1, VA, PAGE) == 0, "third");
	EXPECT(put(0) == 0 && put(1) == 0, "put");
	free_both();
}

/* It WARNs, as the real driver does: whoever names it expects a splat. */
CASE_BY_NAME(unmap_by_another_peer)
{
	two_blocks();
	CHECK_CASE();
	EXPECT(get(0, VA, PAGE) == 0 && map(0, 0) == 0, "get");
	EXPECT(with_flags(P2P_CHECK_UNMAP, 0, P2P_CHECK_OTHER_PEER) == 0, "unmap");
	EXPECT(counts().counts.out_dma_maps == 0, "%u", counts().counts.out_dma_maps);
	EXPECT(put(0) == 0, "put");
	free_both();
}

VMTEST_MAIN
