// SPDX-License-Identifier: MIT
/* nvidia_p2p_put_pages always returns 0. Only the monitor reports a wrong call. */
#include "p2p.h"

SETUP(nodes_are_there)
{
	EXPECT_NODES();
}

CASE(null_table_is_0)
{
	rules_watch(fd);
	EXPECT(with_flags(P2P_CHECK_PUT, 0, P2P_CHECK_NULL_TABLE) == 0, "put");
	EXPECT_NO_BREACH(fd);
}

CASE(put_cancels_the_callback)
{
	rules_watch(fd);
	one_block();
	CHECK_CASE();
	EXPECT(get(0, VA, PAGE) == 0 && pins() == 1, "%u pins", pins());
	EXPECT(put(0) == 0 && pins() == 0, "%u pins", pins());
	EXPECT(callback(0).out_count == 0, "put ran the callback");
	EXPECT(version(0) == POISON, "the table is not freed: %#x", version(0));
	free_one();
	EXPECT(callback(0).out_count == 0, "free ran the callback of a pin that was put");
	EXPECT_NO_BREACH(fd);
}

CASE(put_after_callback_is_0)
{
	rules_watch(fd);
	one_block();
	CHECK_CASE();
	EXPECT(get(0, VA, PAGE) == 0, "get");
	free_one();
	CHECK_CASE();
	EXPECT(callback(0).out_count == 1, "%u", callback(0).out_count);
	EXPECT(put(0) == 0, "put");
	EXPECT_NO_BREACH(fd);
}

static int put_as_another(void)
{
	return put(0) == 0 ? 0 : 1;
}

CASE(put_by_another_process_is_ignored)
{
	rules_watch(fd);
	one_block();
	CHECK_CASE();
	EXPECT(get(0, VA, PAGE) == 0, "get");
	EXPECT(emu_in_child(put_as_another) == 0, "put is not 0");
	EXPECT(pins() == 1 && version(0) == 0x20000, "the put took effect");
	EXPECT_BROKE(fd, EMUGPU_RULE_PUT_BY_OTHER_PROCESS, 1);
	EXPECT(put(0) == 0 && pins() == 0, "put by the owner");
	EXPECT_NO_BREACH(fd);
	free_one();
}

CASE(put_twice_is_reported)
{
	rules_watch(fd);
	one_block();
	CHECK_CASE();
	EXPECT(get(0, VA, PAGE) == 0 && put(0) == 0, "get, put");
	EXPECT(put(0) == 0, "again");
	EXPECT_BROKE(fd, EMUGPU_RULE_PUT_OF_DEAD_TABLE, 1);
	free_one();
}

CASE(put_of_unknown_table_is_reported)
{
	rules_watch(fd);
	EXPECT(with_flags(P2P_CHECK_PUT, 0, P2P_CHECK_WILD_TABLE) == 0, "put");
	EXPECT_BROKE(fd, EMUGPU_RULE_PUT_OF_DEAD_TABLE, 1);
}

CASE(put_of_failed_get_is_reported)
{
	EXPECT(get(0, VA, PAGE) == -EINVAL, "get");
	rules_watch(fd);
	EXPECT(put(0) == 0, "put");
	EXPECT_BROKE(fd, EMUGPU_RULE_PUT_OF_DEAD_TABLE, 1);
}

CASE(put_with_another_address_is_reported)
{
	struct p2p_check_call wrong = { .va = VA + PAGE };

	rules_watch(fd);
	one_block();
	CHECK_CASE();
	EXPECT(get(0, VA, PAGE) == 0, "get");
	EXPECT(call(P2P_CHECK_PUT, wrong) == 0, "put");
	EXPECT_BROKE(fd, EMUGPU_RULE_PUT_WRONG_ADDRESS, 1);
	free_one();
}

CASE(put_of_persistent_pin_is_reported)
{
	rules_watch(fd);
	one_block();
	CHECK_CASE();
	EXPECT(get_persistent(0, VA, PAGE) == 0, "get");
	EXPECT(put(0) == 0 && pins() == 1, "%u pins", pins());
	EXPECT_BROKE(fd, EMUGPU_RULE_PUT_WRONG_KIND, 1);
	EXPECT(put_persistent(0) == 0, "put_persistent");
	free_one();
}

CASE(put_ends_only_its_pin)
{
	rules_watch(fd);
	one_block();
	CHECK_CASE();
	EXPECT(get(0, VA, PAGE) == 0 && get(1, VA, PAGE) == 0 && get(2, VA, BLOCK) == 0, "get");
	EXPECT(put(1) == 0 && pins() == 2, "%u pins", pins());
	EXPECT(version(0) == 0x20000 && version(2) == 0x20000, "the put ended another pin");
	free_one();
	EXPECT(callback(0).out_count == 1 && callback(1).out_count == 0 && callback(2).out_count == 1, "%u %u %u",
	       callback(0).out_count, callback(1).out_count, callback(2).out_count);
	EXPECT_NO_BREACH(fd);
}

CASE(range_can_be_pinned_again)
{
	int i;

	one_block();
	CHECK_CASE();
	for (i = 0; i < 100; i++)
		EXPECT(get(0, VA, BLOCK) == 0 && put(0) == 0, "round %d", i);
	free_one();
}

/* Many rounds, because a wrong free of another object shows at the next allocation of that object. */
CASE(consumer_may_reorder_the_pages)
{
	uint64_t first;
	int i;

	rules_watch(fd);
	one_block();
	CHECK_CASE();
	for (i = 0; i < 500; i++) {
		EXPECT(get(0, VA, BLOCK) == 0, "round %d: get", i);
		first = table_page(0, 0).out_phys;
		EXPECT(call(P2P_CHECK_REVERSE, (struct p2p_check_call){ .slot = 0 }) == 0, "reverse");
		EXPECT(table_page(0, BLOCK / PAGE - 1).out_phys == first, "the first is not the last");
		EXPECT(put(0) == 0 && version(0) == POISON, "round %d: put", i);
	}
	free_one();
	CHECK_CASE();
	EXPECT_NO_BREACH(fd);
}

/* ---- free_page_table ------------------------------------------------------- */

CASE(free_of_null_table_is_0)
{
	rules_watch(fd);
	EXPECT(with_flags(P2P_CHECK_FREE_TABLE, 0, P2P_CHECK_NULL_TABLE) == 0, "free_page_table");
	EXPECT_NO_BREACH(fd);
}

CASE(free_page_table_outside_callback_reported)
{
	rules_watch(fd);
	one_block();
	CHECK_CASE();
	EXPECT(get(0, VA, PAGE) == 0, "get");
	EXPECT(with_flags(P2P_CHECK_FREE_TABLE, 0, 0) == 0, "free_page_table");
	EXPECT(pins() == 1 && version(0) == 0x20000, "the table is gone");
	EXPECT_BROKE(fd, EMUGPU_RULE_FREE_OF_LIVE_TABLE, 1);
	EXPECT(put(0) == 0, "put");
	free_one();
}

CASE(free_page_table_twice_is_reported)
{
	rules_watch(fd);
	one_block();
	CHECK_CASE();
	EXPECT(get(0, VA, PAGE) == 0, "get");
	free_one();
	CHECK_CASE();
	EXPECT(callback(0).out_free_table == 0, "%d", callback(0).out_free_table);
	EXPECT(with_flags(P2P_CHECK_FREE_TABLE, 0, 0) == 0, "again");
	EXPECT_BROKE(fd, EMUGPU_RULE_FREE_OF_DEAD_TABLE, 1);
}

CASE(free_page_table_after_callback_allowed)
{
	rules_watch(fd);
	one_block();
	CHECK_CASE();
	EXPECT(get_flags(0, VA, PAGE, P2P_CHECK_IN_CALLBACK_LEAVE_TABLE) == 0, "get");
	free_one();
	CHECK_CASE();
	EXPECT(with_flags(P2P_CHECK_FREE_TABLE, 0, 0) == 0, "free_page_table");
	EXPECT_NO_BREACH(fd);
}

CASE(free_page_table_after_put_reported)
{
	rules_watch(fd);
	one_block();
	CHECK_CASE();
	EXPECT(get(0, VA, PAGE) == 0 && put(0) == 0, "get, put");
	EXPECT(with_flags(P2P_CHECK_FREE_TABLE, 0, 0) == 0, "free_page_table");
	EXPECT(with_flags(P2P_CHECK_FREE_TABLE, 0, P2P_CHECK_WILD_TABLE) == 0, "free_page_table of no table");
	EXPECT_BROKE(fd, EMUGPU_RULE_FREE_OF_DEAD_TABLE, 2);
	free_one();
}

static void pass_pointers(unsigned int flag)
{
	static const unsigned long calls[] = {
		P2P_CHECK_PUT, P2P_CHECK_PUT_PERSISTENT, P2P_CHECK_MAP, P2P_CHECK_UNMAP,
	};
	size_t i;

	for (i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		EXPECT(with_flags(calls[i], 0, flag) == -EINVAL, "call %zu", i);
	EXPECT(with_flags(P2P_CHECK_FREE_TABLE, 0, flag) == 0 && with_flags(P2P_CHECK_FREE_MAP, 0, flag) == 0, "free");
}

/* The pointers are what a driver reads from a record that the slab allocator has filled. */
CASE(pointer_from_freed_memory_is_named)
{
	rules_watch(fd);
	pass_pointers(P2P_CHECK_FREED_POINTER);
	CHECK_CASE();
	EXPECT_BROKE(fd, EMUGPU_RULE_USE_AFTER_FREE, 6);
}

CASE(pointer_from_unwritten_memory_is_named)
{
	rules_watch(fd);
	pass_pointers(P2P_CHECK_UNSET_POINTER);
	CHECK_CASE();
	EXPECT_BROKE(fd, EMUGPU_RULE_UNINITIALISED_MEMORY, 6);
}

VMTEST_MAIN
