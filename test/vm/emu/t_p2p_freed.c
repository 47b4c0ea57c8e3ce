// SPDX-License-Identifier: MIT
/* Arguments of free callbacks: the emulator reports freed memory, and nothing else. Needs slub_debug=ZP. */
#include "p2p.h"

SETUP(nodes_are_there)
{
	EXPECT_NODES();
}

static void revoke_with(enum p2p_check_data data)
{
	struct p2p_check_call arg = { .va = VA, .length = PAGE, .data = data };

	rules_watch(fd);
	one_block();
	CHECK_CASE();
	EXPECT(call(P2P_CHECK_GET, arg) == 0 && emu_revoke(fd, VA) == 0, "get, revoke");
	EXPECT(callback(0).out_count == 1, "kind %u: %u callbacks", data, callback(0).out_count);
	free_one();
}

CASE(freed_argument_is_a_breach)
{
	revoke_with(P2P_CHECK_DATA_FREED);
	CHECK_CASE();
	EXPECT_BROKE(fd, EMUGPU_RULE_USE_AFTER_FREE, 1);
}

CASE(inside_of_freed_argument_too)
{
	revoke_with(P2P_CHECK_DATA_FREED_INSIDE);
	CHECK_CASE();
	EXPECT_BROKE(fd, EMUGPU_RULE_USE_AFTER_FREE, 1);
}

/* Live memory that looks like freed memory, and arguments that are no pointers */
CASE(other_arguments_are_no_breach)
{
	enum p2p_check_data data;

	for (data = P2P_CHECK_DATA_UNWRITTEN; data < P2P_CHECK_DATA_KINDS; data++) {
		revoke_with(data);
		CHECK_CASE();
		EXPECT_NO_BREACH(fd);
	}
}

VMTEST_MAIN
