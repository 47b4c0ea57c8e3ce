// SPDX-License-Identifier: MIT
/*
 * How the emulator treats memory that a driver has freed. The emulator reports such memory as the argument of a free
 * callback, reports no other argument, and does not allocate such memory again. Needs slub_debug=ZP.
 */
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

static int pin_it(void)
{
	return get(0, VA, PAGE);
}

static int map_it(void)
{
	return map(0, 0);
}

static int unmap_it(void)
{
	return unmap(0, 0);
}

static int put_it(void)
{
	return put(0);
}

static int revoke_it(void)
{
	return emu_revoke(fd, VA);
}

static int pin_both(void)
{
	return get(0, VA, PAGE) || get(1, VA + PAGE, PAGE);
}

static int free_objects(void)
{
	return call(P2P_CHECK_FREE_OBJECTS, (struct p2p_check_call){ 0 });
}

static bool end_watch(void)
{
	return call(P2P_CHECK_END_WATCH, (struct p2p_check_call){ 0 }) == 0;
}

/*
 * Calls @act after FREE_OBJECTS and before END_WATCH, then @undo. Returns true if no freed object was allocated again.
 * Tries up to five times: another part of the kernel may allocate such an object. Returns false if a call fails.
 */
static bool leaves_freed_memory(int (*act)(void), int (*undo)(void))
{
	bool untouched = false;
	int i, err;

	for (i = 0; i < 5 && !untouched; i++) {
		if (free_objects())
			return false;
		err = act();
		untouched = end_watch();
		if (err || undo())
			return false;
	}
	return untouched;
}

/* If the emulator reused freed memory, slub_debug would not see a callback that uses this memory. */
CASE(freed_memory_is_not_allocated_again)
{
	one_block();
	CHECK_CASE();
	EXPECT(leaves_freed_memory(pin_it, put_it), "get_pages");
	EXPECT(pin_it() == 0 && leaves_freed_memory(map_it, unmap_it), "dma_map_pages");
	EXPECT(map_it() == 0 && leaves_freed_memory(unmap_it, map_it) && unmap_it() == 0, "dma_unmap_pages");
	EXPECT(leaves_freed_memory(put_it, pin_it), "put_pages");
	EXPECT(put_it() == 0 && pin_both() == 0 && emu_guard(fd, 1) == 0, "guard");
	EXPECT(leaves_freed_memory(revoke_it, pin_both), "revocation of two pins");
	EXPECT(put_it() == 0 && put(1) == 0 && emu_guard(fd, 0) == 0, "put");
	free_one();
}

VMTEST_MAIN
