// SPDX-License-Identifier: MIT
/* BAR1: its room for pins, and the pins that share this room. */
#include "p2p.h"

static uint64_t room(void)
{
	struct emugpu_info info;

	return emu_info(fd, 0, &info) ? 0 : info.out_bar1_total - info.out_bar1_reserved;
}

/* Allocate all VRAM in one block, which is larger than the room of BAR1 for pins. */
static void big_block(void)
{
	EXPECT(emu_alloc(fd, VA, vram_free()) == 0, "alloc");
}

SETUP(nodes_are_there)
{
	EXPECT_NODES();
}

CASE(bar1_exhaustion_is_enomem)
{
	rules_watch(fd);
	big_block();
	CHECK_CASE();
	EXPECT(get(0, VA, room() + PAGE) == -ENOMEM, "a page too many");
	EXPECT(version(0) == POISON && nothing_pinned(), "%#x, %lu", version(0), bar1_used());
	EXPECT(get(0, VA, room()) == 0, "all room");
	EXPECT(bar1_used() == room(), "%lu", bar1_used());
	EXPECT(get(1, VA + room(), PAGE) == -ENOMEM, "a page above the room");
	EXPECT(get_persistent(1, VA + room(), PAGE) == -ENOMEM, "a persistent page above the room");
	EXPECT(put(0) == 0, "put");
	EXPECT(get(1, VA + room(), PAGE) == 0 && put(1) == 0, "after put");
	EXPECT_NO_BREACH(fd);
	free_one();
}

/* A BAR1 of 256 MiB has room for 220 MiB of pins. */
CASE(reserve_is_36_MiB)
{
	struct emugpu_info info;

	EXPECT(emu_info(fd, 0, &info) == 0, "info");
	EXPECT(info.out_bar1_reserved == 36 * MIB, "%llu", info.out_bar1_reserved);
	EXPECT(info.out_bar1_total == 256 * MIB, "%llu: type: emu/vm/run --bar1 256", info.out_bar1_total);
	big_block();
	CHECK_CASE();
	EXPECT(get(0, VA, 220 * MIB) == 0 && put(0) == 0, "220 MiB");
	EXPECT(get(0, VA, 220 * MIB + PAGE) == -ENOMEM, "a page more");
	free_one();
}

/* Needs a VM with bar1_reserve_mib=32, the reserve of early NVIDIA guides. */
CASE_BY_NAME(reserve_is_a_parameter)
{
	big_block();
	CHECK_CASE();
	EXPECT(get(0, VA, 224 * MIB) == 0 && put(0) == 0, "224 MiB");
	EXPECT(get(0, VA, 224 * MIB + PAGE) == -ENOMEM, "a page more");
	free_one();
}

CASE(free_callback_returns_the_room)
{
	big_block();
	CHECK_CASE();
	EXPECT(get(0, VA, room()) == 0, "get");
	free_one();
	CHECK_CASE();
	big_block();
	CHECK_CASE();
	EXPECT(get(0, VA, room()) == 0 && put(0) == 0, "get");
	free_one();
}

CASE(overlapping_pins_share_bar1)
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

/* Needs a VM with bar_sharing=0. */
CASE_BY_NAME(unshared_pins_cost_their_length)
{
	unsigned int i, n = room() / BLOCK;

	two_blocks();
	CHECK_CASE();
	EXPECT(get(0, VA, 16 * PAGE) == 0, "get");
	EXPECT(get(1, VA + 8 * PAGE, 16 * PAGE) == 0, "get");
	EXPECT(bar1_used() == 32 * PAGE, "%lu", bar1_used());
	EXPECT(put(0) == 0 && bar1_used() == 16 * PAGE, "%lu", bar1_used());
	EXPECT(put(1) == 0 && bar1_used() == 0, "%lu", bar1_used());
	EXPECT(n < P2P_CHECK_SLOTS * 2, "%u", n);
	for (i = 0; i < P2P_CHECK_SLOTS; i++)
		EXPECT(get(i, VA, BLOCK) == 0, "pin %u", i);
	EXPECT(bar1_used() == P2P_CHECK_SLOTS * BLOCK, "%lu", bar1_used());
	EXPECT(emu_bar1_free(fd, PAGE) == 0, "limit");
	EXPECT(put(0) == 0 && get(0, VA, BLOCK) == 0, "get after a put");
	EXPECT(emu_bar1_free(fd, BLOCK - PAGE) == 0, "limit");
	EXPECT(get(0, VA, BLOCK) == -ENOMEM, "a pin above the limit, of the same memory");
	EXPECT(emu_bar1_free(fd, -1) == 0, "no limit");
	free_both();
}

CASE(shared_pin_needs_its_whole_length)
{
	big_block();
	CHECK_CASE();
	EXPECT(get(0, VA, room() - PAGE) == 0, "get");
	EXPECT(get(1, VA, 2 * PAGE) == -ENOMEM, "two pages, both shared");
	EXPECT(get(1, VA, PAGE) == 0, "a page");
	EXPECT(bar1_used() == room() - PAGE, "%lu", bar1_used());
	EXPECT(put(0) == 0 && bar1_used() == PAGE && put(1) == 0, "%lu", bar1_used());
	free_one();
}

CASE(each_gpu_has_its_own_bar1)
{
	struct emugpu_info info;

	if (emu_info(fd, 1, &info))
		SKIP("one GPU only; type: emu/vm/run --gpus 2 ...");
	EXPECT(emu_alloc(fd, VA, BLOCK) == 0 && emu_alloc_on(fd, 1, VA + BLOCK, BLOCK) == 0, "alloc");
	EXPECT(get(0, VA + BLOCK, BLOCK) == 0, "get");
	EXPECT(bar1_used() == 0 && pins() == 0, "%lu on GPU 0", bar1_used());
	EXPECT(emu_info(fd, 1, &info) == 0 && info.out_bar1_used == BLOCK, "%llu on GPU 1", info.out_bar1_used);
	EXPECT(put(0) == 0, "put");
	free_both();
}

/* ---- limit by the control node --------------------------------------------------- */

CASE(control_limits_the_room)
{
	big_block();
	CHECK_CASE();
	EXPECT(emu_bar1_free(fd, 8 * MIB + 1) == -EINVAL, "limit of half a page");
	EXPECT(emu_bar1_free(fd, 8 * MIB) == 0, "limit");
	EXPECT(get(0, VA, 8 * MIB + PAGE) == -ENOMEM, "a page too many");
	EXPECT(get(0, VA, 8 * MIB) == 0, "all room");
	EXPECT(get(1, VA + 8 * MIB, PAGE) == -ENOMEM, "a page above the limit");
	EXPECT(emu_bar1_free(fd, 0) == 0 && put(0) == 0, "limit 0");
	EXPECT(get(0, VA, 8 * MIB) == 0, "get of the room that was put");
	EXPECT(get(1, VA, PAGE) == -ENOMEM, "a page above the limit");
	EXPECT(put(0) == 0, "put");
	EXPECT(emu_bar1_free(fd, -1) == 0, "no limit");
	EXPECT(get(0, VA, room()) == 0 && put(0) == 0, "all room without a limit");
	free_one();
}

VMTEST_MAIN
