// SPDX-License-Identifier: MIT
/* Pins of processes that fork, close, exit or are killed. */
#include <signal.h>

#include "p2p.h"

SETUP(nodes_are_there)
{
	EXPECT_NODES();
}

/* Try for a while: callbacks of a process may still run just after its exit. */
static bool soon_nothing_pinned(void)
{
	int i;

	for (i = 0; i < 200 && !nothing_pinned(); i++)
		usleep(10000);
	return nothing_pinned();
}

/* ---- close and exit ----------------------------------------------------------- */

CASE(close_of_gpu_runs_the_callback)
{
	int own = emu_open();

	rules_watch(fd);
	EXPECT(emu_alloc(own, VA, BLOCK) == 0 && get(0, VA, PAGE) == 0 && map(0, 0) == 0, "alloc, get, map");
	close(own);
	EXPECT(callback(0).out_count == 1 && nothing_pinned(), "%u", callback(0).out_count);
	EXPECT(callback(0).out_tid == (unsigned int)gettid(), "in thread %u", callback(0).out_tid);
	EXPECT_NO_BREACH(fd);
}

/* Pin slot 0 through a new file of p2p_check. The close of this file puts the pin. */
static int pin_by_own_driver(int gpu, int driver)
{
	fd = gpu;
	check = driver;
	return emu_alloc(gpu, VA, BLOCK) || get_flags(0, VA, PAGE, P2P_CHECK_PUT_AT_CLOSE) || map(0, 0);
}

static int own_driver(void)
{
	return open("/dev/p2p_check", O_RDWR | O_CLOEXEC);
}

/* A driver must unmap before a put. Here the close of its file puts the pin. */
static int close_driver_first(void)
{
	int gpu = emu_open(), driver = own_driver();

	if (pin_by_own_driver(gpu, driver) || unmap(0, 0))
		return 1;
	close(driver);
	if (!nothing_pinned())
		return 2;
	close(gpu);
	return 0;
}

static int close_driver_last(void)
{
	int gpu = emu_open(), driver = own_driver();

	if (pin_by_own_driver(gpu, driver))
		return 1;
	close(gpu);
	if (callback(0).out_count != 1)
		return 2;
	close(driver);
	return 0;
}

CASE(driver_closed_first_puts)
{
	int status;

	rules_watch(fd);
	status = emu_in_child(close_driver_first);
	EXPECT(status == 0, "%d", status);
	EXPECT(callback(0).out_count == 0 && nothing_pinned(), "%u callbacks", callback(0).out_count);
	EXPECT_NO_BREACH(fd);
}

CASE(driver_closed_last_gets_a_callback)
{
	int status;

	rules_watch(fd);
	status = emu_in_child(close_driver_last);
	EXPECT(status == 0, "%d", status);
	EXPECT(callback(0).out_count == 1 && nothing_pinned(), "%u callbacks", callback(0).out_count);
	EXPECT_NO_BREACH(fd);
}

/* At exit the kernel closes the two files in the order of their descriptors. */
static int exit_with(int gpu, int driver)
{
	return pin_by_own_driver(gpu, driver) || unmap(0, 0) ? 1 : 0;
}

static int exit_with_the_gpu_opened_first(void)
{
	int gpu = emu_open();

	return exit_with(gpu, own_driver());
}

static int exit_with_the_driver_opened_first(void)
{
	int driver = own_driver();

	return exit_with(emu_open(), driver);
}

CASE(exit_closes_files_in_either_order)
{
	unsigned int callbacks;

	rules_watch(fd);
	EXPECT(emu_in_child(exit_with_the_gpu_opened_first) == 0, "child");
	callbacks = callback(0).out_count;
	EXPECT(nothing_pinned(), "pins are left");
	EXPECT(emu_in_child(exit_with_the_driver_opened_first) == 0, "child");
	callbacks += callback(0).out_count;
	EXPECT(nothing_pinned(), "pins are left");
	EXPECT(callbacks == 1, "%u callbacks: both exits closed the files in the same order", callbacks);
	EXPECT_NO_BREACH(fd);
}

static int leave_the_table(void)
{
	return emu_alloc(emu_open(), VA, BLOCK) || get_flags(0, VA, PAGE, P2P_CHECK_IN_CALLBACK_LEAVE_TABLE);
}

CASE(exit_reports_a_leaked_table)
{
	rules_watch(fd);
	EXPECT(emu_in_child(leave_the_table) == 0, "child");
	EXPECT(callback(0).out_count == 1 && nothing_pinned(), "%u", callback(0).out_count);
	EXPECT_BROKE(fd, EMUGPU_RULE_TABLE_LEAKED, 1);
}

/* The callback runs before get_pages returns. */
static int leave_a_table_unknown(void)
{
	int own = emu_open();

	return emu_alloc(own, VA, BLOCK) || emu_plan(own, 1, EMUGPU_ACT_REVOKE) ||
	       get_flags(0, VA, PAGE, P2P_CHECK_IN_CALLBACK_LEAVE_TABLE);
}

CASE(early_callback_allows_late_table_free)
{
	rules_watch(fd);
	EXPECT(emu_in_child(leave_a_table_unknown) == 0, "child");
	EXPECT(callback(0).out_count == 1 && nothing_pinned(), "%u", callback(0).out_count);
	EXPECT(with_flags(P2P_CHECK_FREE_TABLE, 0, 0) == 0, "free after the exit");
	EXPECT_NO_BREACH(fd);
	EXPECT(with_flags(P2P_CHECK_FREE_TABLE, 0, 0) == 0, "again");
	EXPECT_BROKE(fd, EMUGPU_RULE_FREE_OF_DEAD_TABLE, 1);
}

static int leave_the_mapping(void)
{
	return emu_alloc(emu_open(), VA, BLOCK) || get_flags(0, VA, PAGE, P2P_CHECK_IN_CALLBACK_LEAVE_MAPS) || map(0, 0);
}

/* The free may come from a worker, or from the release of a file that closes after the GPU's file. */
CASE(mapping_may_be_freed_after_exit)
{
	rules_watch(fd);
	EXPECT(emu_in_child(leave_the_mapping) == 0, "child");
	EXPECT(callback(0).out_count == 1 && nothing_pinned(), "%u", callback(0).out_count);
	EXPECT(with_flags(P2P_CHECK_FREE_MAP, 0, P2P_CHECK_OLD_MAP) == 0, "free");
	EXPECT_NO_BREACH(fd);
}

/* ---- killed --------------------------------------------------------------------- */

static void pin_and_pause(int ready)
{
	if (!emu_alloc(emu_open(), VA, BLOCK) && !get(0, VA, BLOCK) && !map(0, 0) && write(ready, "x", 1) == 1)
		pause();
	_exit(1);
}

CASE(kill_runs_the_callback)
{
	int ready[2], status;
	char byte;
	pid_t pid;

	rules_watch(fd);
	EXPECT(!pipe(ready), "%s", strerror(errno));
	pid = fork();
	if (!pid)
		pin_and_pause(ready[1]);
	close(ready[1]);
	EXPECT(read(ready[0], &byte, 1) == 1, "child");
	close(ready[0]);
	EXPECT(pins() == 1 && callback(0).out_count == 0, "pin of the child");
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	EXPECT(callback(0).out_count == 1, "%u", callback(0).out_count);
	EXPECT(callback(0).out_tid == (unsigned int)pid, "in thread %u", callback(0).out_tid);
	EXPECT(nothing_pinned(), "pins are left");
	EXPECT_NO_BREACH(fd);
}

static void free_after_delay(void)
{
	if (!emu_alloc(emu_open(), VA, BLOCK) && !get(0, VA, BLOCK) && !emu_delay_callbacks(emu_open(), 1500, 1))
		_exit(1);	/* exit closes the GPU's file: the callback waits in the exit */
	_exit(2);
}

CASE(kill_does_not_cut_the_callback)
{
	int status;
	pid_t pid;

	rules_watch(fd);
	pid = fork();
	if (!pid)
		free_after_delay();
	while (bar1_used() != BLOCK)
		usleep(1000);
	usleep(300000);
	EXPECT(bar1_used() == BLOCK && callback(0).out_count == 0, "the delayed callback has run already");
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	EXPECT(callback(0).out_count == 1 && nothing_pinned(), "%u", callback(0).out_count);
	EXPECT_NO_BREACH(fd);
}

/* ---- fork ------------------------------------------------------------------------- */

static int do_nothing(void)
{
	return 0;
}

CASE(exit_of_child_revokes_nothing)
{
	rules_watch(fd);
	one_block();
	CHECK_CASE();
	EXPECT(get(0, VA, PAGE) == 0 && map(0, 0) == 0, "get, map");
	EXPECT(emu_in_child(do_nothing) == 0, "child");
	EXPECT(callback(0).out_count == 0 && pins() == 1 && maps() == 1, "%u callbacks", callback(0).out_count);
	EXPECT(unmap(0, 0) == 0 && put(0) == 0, "unmap, put");
	EXPECT_NO_BREACH(fd);
	free_one();
}

static int close_inherited(void)
{
	close(fd);
	close(check);
	return 0;
}

CASE(close_by_child_revokes_nothing)
{
	one_block();
	CHECK_CASE();
	EXPECT(get_flags(0, VA, PAGE, P2P_CHECK_PUT_AT_CLOSE) == 0, "get");
	EXPECT(emu_in_child(close_inherited) == 0, "child");
	EXPECT(callback(0).out_count == 0 && pins() == 1, "%u callbacks", callback(0).out_count);
	free_one();
}

/* Pin, leave the file to a forked child, and exit. */
static int pin_and_bequeath(int *until)
{
	char byte;

	if (emu_alloc(emu_open(), VA, BLOCK) || get(0, VA, BLOCK))
		return 1;
	if (fork())
		return 0;
	close(until[1]);
	return read(until[0], &byte, 1) == 0 ? 0 : 1;
}

CASE(last_close_in_child_runs_callback)
{
	int until[2], status;
	pid_t pid;

	rules_watch(fd);
	EXPECT(!pipe(until), "%s", strerror(errno));
	pid = fork();
	if (!pid)
		_exit(pin_and_bequeath(until));
	close(until[0]);
	waitpid(pid, &status, 0);
	EXPECT(status == 0, "%#x", status);
	EXPECT(pins() == 1 && callback(0).out_count == 0, "the callback ran at the owner's exit");
	close(until[1]);
	EXPECT(soon_nothing_pinned(), "pins are left");
	EXPECT(callback(0).out_count == 1, "%u", callback(0).out_count);
	EXPECT(callback(0).out_tid != (unsigned int)pid, "the callback ran in the owner");
	EXPECT_NO_BREACH(fd);
}

VMTEST_MAIN
