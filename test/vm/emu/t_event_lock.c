// SPDX-License-Identifier: MIT
/*
 * A consumer holds a lock, which its callback takes, around a call that may wait for the callback.
 * That is a deadlock. The emulator reports a breach, and lockdep reports it, too.
 */
#include "thread.h"

static int call_locked(unsigned long cmd, unsigned int slot)
{
	return call(cmd, (struct p2p_check_call){ .slot = slot, .va = cmd == P2P_CHECK_GET ? VA + PAGE : 0,
						  .length = PAGE, .flags = P2P_CHECK_LOCKED });
}

SETUP(nodes_are_there)
{
	EXPECT_NODES();
}

/* Pin slot 0 and map it. The callback takes the lock to unmap the mapping. */
static void one_pin_that_needs_the_lock(void)
{
	rules_watch(fd);
	one_block();
	CHECK_CASE();
	EXPECT(get(0, VA, PAGE) == 0 && map(0, 0) == 0, "get, map");
}

static void expect_that_it_waits(unsigned long cmd, unsigned int slot, int result)
{
	EXPECT(emu_plan(fd, 1, EMUGPU_ACT_REVOKE) == 0, "plan");
	EXPECT(call_locked(cmd, slot) == result, "call");
	EXPECT_BROKE(fd, EMUGPU_RULE_CALLBACK_WAITS, 1);
	EXPECT(emu_revoke_all(fd, 0) == 0 && pins() == 0, "%u pins", pins());
	EXPECT(callback(0).out_count == 1, "%u callbacks", callback(0).out_count);
}

CASE(lock_around_get_is_a_breach)
{
	one_pin_that_needs_the_lock();
	CHECK_CASE();
	expect_that_it_waits(P2P_CHECK_GET, 1, 0);
	CHECK_CASE();
	free_one();
}

CASE(lock_around_map_is_a_breach)
{
	one_pin_that_needs_the_lock();
	CHECK_CASE();
	EXPECT(get(1, VA + PAGE, PAGE) == 0, "get");
	expect_that_it_waits(P2P_CHECK_MAP, 1, 0);
	CHECK_CASE();
	free_one();
}

/* The callback of the new pin runs only after get_pages has taken the GPU driver's lock. */
CASE(lock_around_first_get_is_allowed)
{
	rules_watch(fd);
	one_block();
	CHECK_CASE();
	EXPECT(emu_plan(fd, 1, EMUGPU_ACT_REVOKE) == 0, "plan");
	EXPECT(call_locked(P2P_CHECK_GET, 0) == 0, "get");
	EXPECT(emu_revoke_all(fd, 0) == 0 && pins() == 0 && callback(0).out_count == 1, "%u pins, %u callbacks", pins(),
	       callback(0).out_count);
	EXPECT_NO_BREACH(fd);
	free_one();
}

/* The put is refused: it would wait for ever. */
CASE(lock_around_put_is_a_breach)
{
	one_pin_that_needs_the_lock();
	CHECK_CASE();
	EXPECT(get(1, VA + PAGE, PAGE) == 0, "get");
	expect_that_it_waits(P2P_CHECK_PUT, 1, -EIO);
	CHECK_CASE();
	free_one();
}

/* The unmap does not wait for callbacks, so there is no deadlock. */
CASE(lock_around_unmap_is_allowed)
{
	one_pin_that_needs_the_lock();
	CHECK_CASE();
	EXPECT(get(1, VA + PAGE, PAGE) == 0 && map(1, 0) == 0, "get, map");
	EXPECT(emu_plan(fd, 1, EMUGPU_ACT_REVOKE) == 0, "plan");
	EXPECT(unmap(1, 0) == 0, "unmap");
	EXPECT(emu_revoke_all(fd, 0) == 0 && pins() == 0, "%u pins", pins());
	EXPECT_NO_BREACH(fd);
	free_one();
}

CASE(delayed_callback_is_no_breach)
{
	one_pin_that_needs_the_lock();
	CHECK_CASE();
	EXPECT(emu_delay_callbacks(fd, 1000, 1) == 0 && emu_plan(fd, 1, EMUGPU_ACT_REVOKE) == 0, "delay, plan");
	EXPECT(get(1, VA + PAGE, PAGE) == 0, "get");
	EXPECT(callback(0).out_count == 1 && callback(1).out_count == 1, "%u, %u callbacks", callback(0).out_count,
	       callback(1).out_count);
	EXPECT_NO_BREACH(fd);
	free_one();
}

VMTEST_MAIN
