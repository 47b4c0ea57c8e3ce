// SPDX-License-Identifier: MIT
/*
 * Persistent pins have no callback and keep the memory. Drivers 515 to 520 had one call for both
 * kinds of pin, and refused tokens for persistent pins. Today's call has no token arguments.
 */
#include "p2p.h"

static int get_with(uint32_t flags)
{
	return call(P2P_CHECK_GET_PERSISTENT, (struct p2p_check_call){ .va = VA, .length = PAGE, .nv_flags = flags });
}

static int put_with(uint32_t flags, uint32_t how)
{
	return call(P2P_CHECK_PUT_PERSISTENT, (struct p2p_check_call){ .nv_flags = flags, .flags = how });
}

SETUP(nodes_are_there)
{
	EXPECT_NODES();
}

CASE(persistent_get_fills_the_table)
{
	struct p2p_check_table table;
	struct emugpu_test test;
	unsigned int i;

	rules_watch(fd);
	one_block();
	CHECK_CASE();
	EXPECT(get_persistent(0, VA + PAGE, 4 * PAGE) == 0, "get");
	for (i = 0; i < 4; i++) {
		table = table_page(0, i);
		EXPECT(table.out_version == 0x20000 && table.out_entries == 4, "%#x %u", table.out_version,
		       table.out_entries);
		EXPECT(emu_translate(fd, VA + (i + 1) * PAGE, &test) == 0, "translate");
		EXPECT(table.out_phys == test.translate.out_phys, "page %u: %#llx", i, table.out_phys);
	}
	EXPECT(put_persistent(0) == 0 && version(0) == POISON, "%#x", version(0));
	EXPECT_NO_BREACH(fd);
	free_one();
}

/* Number of pages that begin with 0; BLOCK / PAGE if any other page does not begin with @byte. */
static unsigned int pages_cleared(unsigned char byte)
{
	unsigned int i, n = 0;
	unsigned char there;

	for (i = 0; i < BLOCK / PAGE; i++) {
		if (emu_read(fd, &there, VA + i * PAGE, 1) || (there && there != byte))
			return BLOCK / PAGE;
		n += !there;
	}
	return n;
}

/* A device may write to its mapped pages after the free. So put must clear the pages. */
CASE(put_clears_memory_freed_before)
{
	one_block();
	CHECK_CASE();
	EXPECT(!emu_fill(fd, VA, 1, 0xa5, BLOCK) && !get_persistent(0, VA, 3 * PAGE), "get");
	EXPECT(!emu_free(fd, VA) && !put_persistent(0), "free, put");
	one_block();
	CHECK_CASE();
	EXPECT(pages_cleared(0xa5) == 3, "%u pages", pages_cleared(0xa5));
	free_one();
}

CASE(unaligned_is_einval)
{
	rules_watch(fd);
	one_block();
	CHECK_CASE();
	EXPECT(get_persistent(0, VA + 4096, PAGE) == -EINVAL, "address");
	EXPECT(version(0) == P2P_CHECK_UNTOUCHED, "%#x", version(0));
	EXPECT(get_persistent(0, VA, 4096) == -EINVAL, "length");
	EXPECT(version(0) == P2P_CHECK_UNTOUCHED, "%#x", version(0));
	EXPECT_BROKE(fd, EMUGPU_RULE_UNALIGNED, 2);
	EXPECT(call(P2P_CHECK_GET_PERSISTENT,
		    (struct p2p_check_call){ .va = VA + 4096, .length = PAGE, .nv_flags = 0x11 }) == -EINVAL,
	       "unaligned with unknown flags");
	EXPECT_BROKE(fd, EMUGPU_RULE_UNALIGNED, 1);
	EXPECT_NO_BREACH(fd);
	EXPECT(get_persistent(0, VA, 0) == -EINVAL, "length 0");
	EXPECT(get_persistent(0, VA, BLOCK + PAGE) == -EINVAL, "past the block");
	EXPECT(get_persistent(0, VA, -PAGE) == -ENOMEM, "length that overflows");
	EXPECT_NO_BREACH(fd);
	free_one();
}

CASE(unknown_flags_are_reported)
{
	rules_watch(fd);
	one_block();
	CHECK_CASE();
	EXPECT(get_with(0x10) == 0, "get");
	EXPECT_BROKE(fd, EMUGPU_RULE_UNKNOWN_FLAGS, 1);
	EXPECT(put_persistent(0) == 0, "put");
	free_one();
}

CASE(force_bar1_mapping_is_enotsupp)
{
	rules_watch(fd);
	one_block();
	CHECK_CASE();
	EXPECT(get_with(1) == -P2P_CHECK_ENOTSUPP, "get");
	EXPECT(version(0) == POISON && nothing_pinned(), "%#x", version(0));
	EXPECT_NO_BREACH(fd);
	EXPECT(get_with(0x11) == -P2P_CHECK_ENOTSUPP, "with an unknown flag");
	EXPECT_BROKE(fd, EMUGPU_RULE_UNKNOWN_FLAGS, 1);
	free_one();
	EXPECT(get_with(1) == -EINVAL && version(0) == POISON, "get of freed memory");
	EXPECT_NO_BREACH(fd);
}

CASE(persistent_null_result_is_einval)
{
	rules_watch(fd);
	one_block();
	CHECK_CASE();
	EXPECT(call(P2P_CHECK_GET_PERSISTENT, (struct p2p_check_call){ .va = VA, .length = PAGE,
			.flags = P2P_CHECK_NULL_RESULT }) == -EINVAL, "get");
	EXPECT_BROKE(fd, EMUGPU_RULE_NULL_RESULT, 1);
	free_one();
}

CASE(put_checks_flags_first)
{
	rules_watch(fd);
	one_block();
	CHECK_CASE();
	EXPECT(put_with(1, P2P_CHECK_NULL_TABLE) == -EINVAL, "NULL with flags");
	EXPECT(get_persistent(0, VA, PAGE) == 0, "get");
	EXPECT(put_with(1, 0) == -EINVAL && pins() == 1, "%u pins", pins());
	EXPECT(put_with(1, P2P_CHECK_WILD_TABLE) == -EINVAL, "no table");
	EXPECT_NO_BREACH(fd);
	EXPECT(put_persistent(0) == 0, "put");
	free_one();
}

CASE(put_of_null_is_0)
{
	rules_watch(fd);
	EXPECT(put_with(0, P2P_CHECK_NULL_TABLE) == 0, "put");
	EXPECT_NO_BREACH(fd);
}

/* NVIDIA's driver would crash; the emulator reports a breach. */
CASE(put_of_dead_table_is_reported)
{
	rules_watch(fd);
	one_block();
	CHECK_CASE();
	EXPECT(put_with(0, P2P_CHECK_WILD_TABLE) == -EINVAL, "never a table");
	EXPECT(get_persistent(0, VA, PAGE) == 0 && put_persistent(0) == 0, "get, put");
	EXPECT(put_persistent(0) == -EINVAL, "twice");
	EXPECT_BROKE(fd, EMUGPU_RULE_PUT_OF_DEAD_TABLE, 2);
	free_one();
}

CASE(put_persistent_of_revocable_is_reported)
{
	rules_watch(fd);
	one_block();
	CHECK_CASE();
	EXPECT(get(0, VA, PAGE) == 0, "get");
	EXPECT(put_persistent(0) == -EINVAL && pins() == 1, "%u pins", pins());
	EXPECT_BROKE(fd, EMUGPU_RULE_PUT_WRONG_KIND, 1);
	EXPECT(put(0) == 0, "put");
	free_one();
}

CASE(wrong_address_of_put_is_reported)
{
	rules_watch(fd);
	one_block();
	CHECK_CASE();
	EXPECT(get_persistent(0, VA, PAGE) == 0, "get");
	EXPECT(call(P2P_CHECK_PUT_PERSISTENT, (struct p2p_check_call){ .va = VA + PAGE }) == 0, "put");
	EXPECT_BROKE(fd, EMUGPU_RULE_PUT_WRONG_ADDRESS, 1);
	free_one();
}

CASE(pin_and_memory_outlive_free)
{
	uint64_t before = vram_free(), page, other;
	struct emugpu_test test;
	unsigned char byte = 0;
	int i;

	rules_watch(fd);
	one_block();
	CHECK_CASE();
	EXPECT(emu_fill(fd, VA, 1, 0x77, PAGE) == 0 && emu_translate(fd, VA, &test) == 0, "fill");
	page = test.translate.out_vram_page;
	EXPECT(get_persistent(0, VA, PAGE) == 0 && map(0, 0) == 0, "get, map");
	EXPECT(emu_free(fd, VA) == 0, "free");
	EXPECT(callback(0).out_count == 0, "a persistent pin got a callback");
	EXPECT(pins() == 1 && maps() == 1 && bar1_used() == PAGE, "%u pins, %u maps, %lu bytes", pins(), maps(),
	       bar1_used());
	EXPECT(version(0) == 0x20000, "%#x", version(0));
	EXPECT(vram_free() == before - BLOCK, "the free returned %lu bytes", vram_free() - (before - BLOCK));
	for (i = 0; i < 2; i++) {
		EXPECT(emu_alloc(fd, VA, BLOCK) == 0 && emu_translate(fd, VA, &test) == 0, "alloc");
		other = test.translate.out_vram_page;
		EXPECT(other != page && emu_fill(fd, VA, 1, 0x11, BLOCK) == 0, "page %lu was allocated again", other);
		EXPECT(emu_free(fd, VA) == 0, "free");
	}
	EXPECT(emu_peek(fd, page, &byte, 0, 1) == 0 && byte == 0x77, "%#x", byte);
	EXPECT(unmap(0, 0) == 0 && map(0, 1) == 0 && unmap(0, 1) == 0, "unmap, map, unmap after the free");
	EXPECT(put_persistent(0) == 0, "put");
	EXPECT(nothing_pinned() && vram_free() == before, "%lu bytes are lost", before - vram_free());
	EXPECT_NO_BREACH(fd);
}

static int pin_and_die(void)
{
	return emu_alloc(emu_open(), VA, BLOCK) || get_persistent(0, VA, BLOCK) ? 1 : 0;
}

CASE(pin_and_memory_outlive_the_process)
{
	uint64_t before = vram_free();

	rules_watch(fd);
	EXPECT(emu_in_child(pin_and_die) == 0, "child");
	EXPECT(pins() == 1 && bar1_used() == BLOCK, "%u pins", pins());
	EXPECT(counts().counts.out_blocks == 0 && counts().counts.out_clients == 1, "%u blocks",
	       counts().counts.out_blocks);
	EXPECT(vram_free() == before - BLOCK, "%lu", vram_free());
	EXPECT(put_persistent(0) == 0, "put by another process");
	EXPECT(nothing_pinned() && vram_free() == before, "%lu", vram_free());
	EXPECT_NO_BREACH(fd);
}

/* The GPU must not be bound while the pin lasts: the device would reach pages of the next owner. */
CASE(pin_outlives_unbind_without_new_mappings)
{
	struct emugpu_info info;
	int err, mapped, pinned;

	rules_watch(fd);
	one_block();
	CHECK_CASE();
	EXPECT(emu_info(fd, 0, &info) == 0 && get_persistent(0, VA, PAGE) == 0 && map(0, 0) == 0, "get, map");
	EXPECT(emu_sysfs(&info, "unbind") == 0, "unbind");
	err = map(0, 1);
	mapped = emu_sysfs(&info, "bind");
	EXPECT(unmap(0, 0) == 0, "unmap");
	pinned = emu_sysfs(&info, "bind");
	EXPECT(put_persistent(0) == 0, "put");
	EXPECT(emu_sysfs(&info, "bind") == 0, "bind");
	EXPECT(err == -EIO, "map: %d", err);
	EXPECT(mapped == -EBUSY && pinned == -EBUSY, "bind: %d when mapped, %d when pinned", mapped, pinned);
	EXPECT(nothing_pinned(), "pins are left");
	free_one();
	EXPECT_NO_BREACH(fd);
}

static int put_as_another(void)
{
	return put_persistent(0) == 0 ? 0 : 1;
}

static int put_soon(void)
{
	usleep(100000);
	return put_as_another();
}

CASE(bind_waits_for_a_late_put)
{
	struct emugpu_info info;
	int err, status = -1;
	pid_t pid;

	one_block();
	CHECK_CASE();
	EXPECT(emu_info(fd, 0, &info) == 0 && get_persistent(0, VA, PAGE) == 0, "get");
	EXPECT(emu_sysfs(&info, "unbind") == 0, "unbind");
	pid = fork();
	if (!pid)
		_exit(put_soon());
	err = emu_sysfs(&info, "bind");
	waitpid(pid, &status, 0);
	if (err)	/* the next cases need the GPU */
		emu_sysfs(&info, "bind");
	EXPECT(!status, "put: status %#x", status);
	EXPECT(!err, "bind: %d", err);
	EXPECT(nothing_pinned(), "pins are left");
	free_one();
}

CASE(any_process_may_put)
{
	rules_watch(fd);
	one_block();
	CHECK_CASE();
	EXPECT(get_persistent(0, VA, PAGE) == 0, "get");
	EXPECT(emu_in_child(put_as_another) == 0 && pins() == 0, "%u pins", pins());
	EXPECT_NO_BREACH(fd);
	free_one();
}

CASE(free_ends_only_the_revocable_pin)
{
	rules_watch(fd);
	one_block();
	CHECK_CASE();
	EXPECT(get_persistent(0, VA, 2 * PAGE) == 0 && get(1, VA, 2 * PAGE) == 0, "get");
	EXPECT(bar1_used() == 2 * PAGE, "not shared: %lu", bar1_used());
	EXPECT(emu_free(fd, VA) == 0, "free");
	EXPECT(callback(1).out_count == 1 && pins() == 1 && bar1_used() == 2 * PAGE, "%u callbacks, %u pins",
	       callback(1).out_count, pins());
	EXPECT(put_persistent(0) == 0 && nothing_pinned(), "put");
	EXPECT_NO_BREACH(fd);
}

CASE(control_cannot_revoke_persistent_pins)
{
	one_block();
	CHECK_CASE();
	EXPECT(get_persistent(0, VA, PAGE) == 0, "get");
	EXPECT(emu_revoke(fd, VA) == 0 && pins() == 1, "%u pins", pins());
	EXPECT(emu_revoke_range(fd, VA, PAGE) == -ENOENT && pins() == 1, "%u pins", pins());
	EXPECT(put_persistent(0) == 0, "put");
	free_one();
}

VMTEST_MAIN
