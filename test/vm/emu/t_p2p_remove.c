// SPDX-License-Identifier: MIT
/* Removal of modules: removal of the GPU driver with pins, and of a consumer that leaves objects. */
#include "test/vm/harness/module.h"
#include "p2p.h"

static int consumer_remove(void)
{
	close(check);
	return module_remove("p2p_check");
}

static int consumer_load(void)
{
	int err = module_load("test/p2p_check.ko", "");

	check = open("/dev/p2p_check", O_RDWR | O_CLOEXEC);
	return err;
}

#define EXPECT_CONSUMER_LOADED() EXPECT(consumer_load() == 0 && check >= 0, "%s", strerror(errno))

SETUP(nodes_are_there)
{
	EXPECT_NODES();
}

CASE(pin_keeps_the_driver)
{
	int before = module_refs("emugpu");

	EXPECT(before > 0, "no /sys/module/emugpu/refcnt");
	one_block();
	CHECK_CASE();
	EXPECT(get(0, VA, PAGE) == 0 && get(1, VA, PAGE) == 0, "get");
	EXPECT(module_refs("emugpu") == before + 2, "%d", module_refs("emugpu") - before);
	EXPECT(module_remove("emugpu") == -EWOULDBLOCK, "%s", strerror(errno));
	EXPECT(put(0) == 0 && module_refs("emugpu") == before + 1, "%d", module_refs("emugpu") - before);
	free_one();
	EXPECT(module_refs("emugpu") == before, "%d", module_refs("emugpu") - before);
}

static int pin_for_ever(void)
{
	return emu_alloc(emu_open(), VA, BLOCK) || get_persistent(0, VA, PAGE);
}

CASE(persistent_pin_alone_keeps_the_driver)
{
	int before = module_refs("emugpu");

	EXPECT(emu_in_child(pin_for_ever) == 0, "child");
	EXPECT(counts().counts.out_clients == 1, "%u clients", counts().counts.out_clients);
	EXPECT(module_refs("emugpu") == before + 1, "%d", module_refs("emugpu") - before);
	close(fd);
	EXPECT(module_refs("emugpu") == before, "%d", module_refs("emugpu") - before);
	EXPECT(module_remove("emugpu") == -EWOULDBLOCK, "%s", strerror(errno));
	fd = emu_open();
	EXPECT(put_persistent(0) == 0 && module_refs("emugpu") == before, "%d", module_refs("emugpu") - before);
}

/* The first removal reports objects left by earlier programs. */
CASE(clean_removal_breaks_no_rule)
{
	EXPECT(consumer_remove() == 0, "%s", strerror(errno));
	EXPECT_CONSUMER_LOADED();
	rules_watch(fd);
	one_block();
	CHECK_CASE();
	EXPECT(get(0, VA, PAGE) == 0 && map(0, 0) == 0 && unmap(0, 0) == 0 && put(0) == 0, "get, put");
	EXPECT(get(0, VA, PAGE) == 0 && map(0, 0) == 0, "get");
	EXPECT(get(1, VA - PAGE, PAGE) == -EINVAL, "a get that fails");
	free_one();
	EXPECT(consumer_remove() == 0, "%s", strerror(errno));
	EXPECT_CONSUMER_LOADED();
	EXPECT_NO_BREACH(fd);
}

CASE(removal_reports_and_ends_pins)
{
	int before = module_refs("emugpu");

	rules_watch(fd);
	one_block();
	CHECK_CASE();
	EXPECT(get(0, VA, PAGE) == 0 && get(1, VA, 2 * PAGE) == 0 && get_persistent(2, VA, PAGE) == 0, "get");
	EXPECT(consumer_remove() == 0, "%s", strerror(errno));
	EXPECT_CONSUMER_LOADED();
	EXPECT(nothing_pinned(), "%u pins, %lu bytes", pins(), bar1_used());
	EXPECT_BROKE(fd, EMUGPU_RULE_PIN_LEAKED, 3);
	EXPECT(module_refs("emugpu") == before, "%d", module_refs("emugpu") - before);
	free_one();	/* end the leaked pin, which would call back into the removed module */
	EXPECT(vram_free() == 256 * MIB, "%lu", vram_free());
}

CASE(removal_reports_leaked_mappings)
{
	rules_watch(fd);
	one_block();
	CHECK_CASE();
	EXPECT(get_flags(0, VA, PAGE, P2P_CHECK_IN_CALLBACK_LEAVE_MAPS) == 0 && map(0, 0) == 0, "get, map");
	free_one();
	EXPECT(maps() == 0, "%u maps", maps());
	EXPECT_NO_BREACH(fd);
	EXPECT(consumer_remove() == 0, "%s", strerror(errno));
	EXPECT_CONSUMER_LOADED();
	EXPECT_BROKE(fd, EMUGPU_RULE_MAPPING_LEAKED, 1);
}

static int leave_the_mapping(void)
{
	return emu_alloc(emu_open(), VA, BLOCK) || get_flags(0, VA, PAGE, P2P_CHECK_IN_CALLBACK_LEAVE_MAPS) || map(0, 0);
}

CASE(mapping_left_by_exit_is_reported)
{
	rules_watch(fd);
	EXPECT(emu_in_child(leave_the_mapping) == 0 && nothing_pinned(), "child");
	EXPECT(consumer_remove() == 0, "%s", strerror(errno));
	EXPECT_CONSUMER_LOADED();
	EXPECT_BROKE(fd, EMUGPU_RULE_MAPPING_LEAKED, 1);
}

CASE(removal_reports_a_leaked_table)
{
	rules_watch(fd);
	one_block();
	CHECK_CASE();
	EXPECT(get_flags(0, VA, PAGE, P2P_CHECK_IN_CALLBACK_LEAVE_TABLE) == 0, "get");
	free_one();
	EXPECT_NO_BREACH(fd);
	EXPECT(consumer_remove() == 0, "%s", strerror(errno));
	EXPECT_CONSUMER_LOADED();
	EXPECT_BROKE(fd, EMUGPU_RULE_TABLE_LEAKED, 1);
}

CASE(write_to_dead_table_is_reported)
{
	rules_watch(fd);
	one_block();
	CHECK_CASE();
	EXPECT(get(0, VA, PAGE) == 0 && put(0) == 0 && get(1, VA, PAGE) == 0 && get(2, VA, PAGE) == 0, "get");
	EXPECT(with_flags(P2P_CHECK_WRITE_TABLE, 0, 0) == 0, "write to a table that was put");
	free_one();
	CHECK_CASE();
	EXPECT(with_flags(P2P_CHECK_WRITE_TABLE, 1, 0) == 0, "write to a revoked table");
	EXPECT(consumer_remove() == 0, "%s", strerror(errno));
	EXPECT_CONSUMER_LOADED();
	EXPECT_BROKE(fd, EMUGPU_RULE_WRITE_TO_DEAD_TABLE, 2);
}

VMTEST_MAIN
