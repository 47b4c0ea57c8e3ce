// SPDX-License-Identifier: MIT
/* Events of the emulated driver: its record of a consumer's calls, and its action at the n-th call. */
#include <signal.h>

#include "thread.h"

enum { EVENTS_MAX = 256 };

static struct emugpu_event events[EVENTS_MAX + 1];

/* Number of events since the plan; -1 on error. */
static int nr_events(void)
{
	unsigned int n;

	memset(events, 0, sizeof(events));
	return emu_events(fd, events, EVENTS_MAX + 1, &n) ? -1 : (int)n;
}

SETUP(nodes_are_there)
{
	EXPECT_NODES();
}

/* ---- the record -------------------------------------------------------------- */

CASE(calls_are_recorded_in_order)
{
	static const unsigned int kinds[] = {
		EMUGPU_EVENT_PIN, EMUGPU_EVENT_PIN_PERSISTENT, EMUGPU_EVENT_MAP, EMUGPU_EVENT_UNMAP,
		EMUGPU_EVENT_UNPIN_PERSISTENT, EMUGPU_EVENT_UNPIN,
	};
	unsigned int i;

	rules_watch(fd);
	one_block();
	CHECK_CASE();
	EXPECT(emu_plan(fd, 0, EMUGPU_ACT_NONE) == 0 && nr_events() == 0, "plan");
	EXPECT(get(0, VA, PAGE) == 0 && get_persistent(1, VA, PAGE) == 0 && map(0, 0) == 0, "get, map");
	EXPECT(unmap(0, 0) == 0 && put_persistent(1) == 0 && put(0) == 0, "unmap, put");
	EXPECT(nr_events() == 6, "%d events", nr_events());
	for (i = 0; i < 6; i++) {
		EXPECT(events[i].kind == kinds[i], "event %u is of kind %u", i + 1, events[i].kind);
		EXPECT(events[i].pid == getpid(), "event %u by process %d", i + 1, events[i].pid);
		EXPECT(!strcmp(events[i].module, "p2p_check"), "event %u by %s", i + 1, events[i].module);
	}
	free_one();
	EXPECT_NO_BREACH(fd);
}

CASE(failures_and_callbacks_are_no_events)
{
	one_block();
	CHECK_CASE();
	EXPECT(emu_plan(fd, 0, EMUGPU_ACT_NONE) == 0, "plan");
	EXPECT(get(0, VA + BLOCK, PAGE) == -EINVAL, "get of nothing");
	EXPECT(get_flags(0, VA, PAGE, P2P_CHECK_IN_CALLBACK_UNMAP) == 0, "get");
	EXPECT(emu_fail_call(fd, EMUGPU_CALL_DMA_MAP_PAGES, 1, -EIO) == 0 && map(0, 0) == -EIO, "map that fails");
	EXPECT(map(0, 0) == 0, "map");
	free_one();
	CHECK_CASE();
	EXPECT(callback(0).out_unmap == 0, "unmap in the callback: %d", callback(0).out_unmap);
	EXPECT(nr_events() == 2, "%d events", nr_events());
	EXPECT(events[0].kind == EMUGPU_EVENT_PIN && events[1].kind == EMUGPU_EVENT_MAP, "%u, %u", events[0].kind,
	       events[1].kind);
}

CASE(first_256_events_are_kept)
{
	unsigned int i, n;

	one_block();
	CHECK_CASE();
	EXPECT(emu_plan(fd, 0, EMUGPU_ACT_NONE) == 0, "plan");
	for (i = 0; i < 150; i++)
		EXPECT(get(0, VA, PAGE) == 0 && put(0) == 0, "round %u", i);
	EXPECT(nr_events() == 300, "%d events", nr_events());
	EXPECT(events[EVENTS_MAX - 1].pid == getpid() && events[EVENTS_MAX].pid == 0, "kept %d, %d",
	       events[EVENTS_MAX - 1].pid, events[EVENTS_MAX].pid);
	memset(events, 0, sizeof(events));
	EXPECT(emu_events(fd, events, 1, &n) == 0 && n == 300, "%u", n);
	EXPECT(events[0].pid == getpid() && events[1].pid == 0, "more than asked for");
	EXPECT(emu_plan(fd, 0, EMUGPU_ACT_NONE) == 0 && nr_events() == 0, "plan");
	free_one();
}

CASE(bad_arguments_are_einval)
{
	unsigned int n;

	EXPECT(emu_plan(fd, 1, EMUGPU_ACT_REVOKE_LATER + 1) == -EINVAL, "action");
	EXPECT(get(0, VA, PAGE) == -EINVAL, "get of nothing");
	one_block();
	CHECK_CASE();
	EXPECT(emu_plan(fd, 0, EMUGPU_ACT_NONE) == 0 && get(0, VA, PAGE) == 0 && put(0) == 0, "get, put");
	EXPECT(emu_events(fd, NULL, 1, &n) == -EFAULT, "no room");
	free_one();
}

/* ---- revoke ------------------------------------------------------------------- */

static void revoke_at(unsigned int nth)
{
	rules_watch(fd);
	one_block();
	CHECK_CASE();
	EXPECT(emu_plan(fd, nth, EMUGPU_ACT_REVOKE) == 0, "plan");
}

CASE(revoke_before_get_returns)
{
	revoke_at(1);
	CHECK_CASE();
	EXPECT(get(0, VA, PAGE) == 0, "get");
	EXPECT(callback(0).out_count == 1, "%u callbacks", callback(0).out_count);
	EXPECT(callback(0).out_tid != (unsigned int)gettid(), "the callback ran in the calling thread");
	EXPECT(version(0) == POISON && pins() == 0, "%#x, %u pins", version(0), pins());
	EXPECT(get(1, VA, PAGE) == 0 && callback(1).out_count == 0, "get after the revocation");
	EXPECT(put(1) == 0 && put(0) == 0, "put");
	free_one();
	EXPECT_NO_BREACH(fd);
}

CASE(revoke_before_map_returns)
{
	revoke_at(2);
	CHECK_CASE();
	EXPECT(get(0, VA, PAGE) == 0 && callback(0).out_count == 0, "get");
	EXPECT(call(P2P_CHECK_MAP, (struct p2p_check_call){ .slot = 0 }) == 0, "map");
	EXPECT(callback(0).out_count == 1 && pins() == 0 && maps() == 0, "%u callbacks, %u pins, %u maps",
	       callback(0).out_count, pins(), maps());
	EXPECT(put(0) == 0, "put");
	free_one();
}

CASE(revoke_when_put_begins)
{
	revoke_at(2);
	CHECK_CASE();
	EXPECT(get(0, VA, PAGE) == 0 && put(0) == 0, "get, put");
	EXPECT(callback(0).out_count == 1, "%u callbacks", callback(0).out_count);
	free_one();
	EXPECT_NO_BREACH(fd);
}

CASE(late_revocation_comes_after_the_call)
{
	int ms;

	rules_watch(fd);
	one_block();
	CHECK_CASE();
	EXPECT(emu_plan(fd, 1, EMUGPU_ACT_REVOKE_LATER) == 0, "plan");
	EXPECT(get(0, VA, PAGE) == 0, "get");
	EXPECT(callback(0).out_count == 0, "the call waited for the callback");
	for (ms = 0; ms < 10000 && !callback(0).out_count; ms++)
		usleep(1000);
	EXPECT(callback(0).out_count == 1 && pins() == 0, "%u callbacks, %u pins", callback(0).out_count, pins());
	free_one();
	EXPECT_NO_BREACH(fd);
}

/* On a slow VM the revocation may come before the second plan. */
CASE(next_plan_ends_late_revocation)
{
	unsigned int n;

	one_block();
	CHECK_CASE();
	EXPECT(emu_plan(fd, 1, EMUGPU_ACT_REVOKE_LATER) == 0 && get(0, VA, PAGE) == 0, "plan, get");
	EXPECT(emu_plan(fd, 0, EMUGPU_ACT_NONE) == 0, "plan");
	n = callback(0).out_count;
	usleep(200000);
	EXPECT(callback(0).out_count == n && put(0) == 0, "%u callbacks after %u", callback(0).out_count, n);
	free_one();
}

/* The persistent pin must stay until its put. All revocable pins must end, also on another GPU. */
CASE(revoke_spares_persistent_pins)
{
	struct emugpu_info info;

	revoke_at(3);
	CHECK_CASE();
	EXPECT(get_persistent(0, VA, PAGE) == 0 && get(1, VA, PAGE) == 0, "get");
	EXPECT(put_persistent(0) == 0, "put");
	EXPECT(callback(0).out_count == 0 && callback(1).out_count == 1, "%u, %u callbacks", callback(0).out_count,
	       callback(1).out_count);
	free_one();
	EXPECT_NO_BREACH(fd);
	if (emu_info(fd, 1, &info))
		SKIP("one GPU only; type: emu/vm/run --gpus 2 ...");
	EXPECT(emu_alloc_on(fd, 1, VA, BLOCK) == 0 && get(0, VA, PAGE) == 0, "on the other GPU");
	EXPECT(emu_alloc(fd, VA + BLOCK, BLOCK) == 0 && get(1, VA + BLOCK, PAGE) == 0, "alloc, get on GPU 0");
	EXPECT(emu_revoke_all(fd, 0) == 0 && callback(0).out_count == 0 && callback(1).out_count == 1,
	       "revoke all pins of GPU 0");
	EXPECT(emu_plan(fd, 1, EMUGPU_ACT_REVOKE) == 0 && get(1, VA + BLOCK, PAGE) == 0, "get");
	EXPECT(callback(0).out_count == 1 && callback(1).out_count == 1, "revoke the pins of all GPUs");
	free_both();
	EXPECT_NO_BREACH(fd);
}

static int pin_in_another_process(void)
{
	int other = emu_open();

	if (emu_alloc(other, VA, BLOCK) || get(2, VA, PAGE) || emu_revoke_all(fd, 0) != -EACCES)
		return 1;
	return emu_revoke_all(other, 0) || callback(2).out_count != 1 || callback(0).out_count != 1;
}

CASE(revoke_all_reaches_all_processes)
{
	one_block();
	CHECK_CASE();
	EXPECT(get(0, VA, PAGE) == 0, "get");
	EXPECT(emu_in_child(pin_in_another_process) == 0, "child");
	EXPECT(pins() == 0, "%u pins", pins());
	free_one();
}

/* ---- kill ---------------------------------------------------------------------- */

/* The process is killed at the end of its second call, so it never calls put(). */
static void pin_and_die(void)
{
	int own = emu_open();

	if (emu_alloc(own, VA, BLOCK) || emu_plan(own, 2, EMUGPU_ACT_KILL) || get(0, VA, PAGE) || map(0, 0))
		_exit(1);
	put(0);
	_exit(2);
}

CASE(process_is_killed_at_nth_event)
{
	int status;
	pid_t pid;

	rules_watch(fd);
	pid = fork();
	if (!pid)
		pin_and_die();
	EXPECT(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "status %#x",
	       status);
	EXPECT(nr_events() == 2 && events[1].kind == EMUGPU_EVENT_MAP && events[1].pid == pid, "%d events",
	       nr_events());
	EXPECT(callback(0).out_count == 1 && nothing_pinned(), "%u callbacks", callback(0).out_count);
	EXPECT_NO_BREACH(fd);
}

VMTEST_MAIN
