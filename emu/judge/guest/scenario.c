// SPDX-License-Identifier: MIT
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "adapter.h"
#include "allocator.h"
#include "child.h"
#include "emulator.h"
#include "emu/judge/log/kmsg.h"
#include "leftover.h"
#include "emu/judge/log/report.h"
#include "scenario.h"
#include "test.h"
#include "trial.h"
#include "verdict.h"
#include "emu/judge/log/violations.h"

enum {
	TRIES = 10,
	UNBIND_SOON_MS = 300,
	UNBIND_MS = 2000,
	DAMAGE_MS = 5000,
};

/**
 * struct run - the running scenario
 * @dead: a process hangs in the kernel; further calls into the kernel may hang, too
 */
struct run {
	const struct scenario *scenario;
	const struct driver *driver;
	struct tests tests;
	struct violations before;
	bool dead;
};

static struct run run;

/* A scenario found no allocation to fail, so scenarios with larger numbers would find none, too. */
static bool allocations_are_over;

static void die(void)
{
	run.dead = true;
	report_taint();
}

/* ---- requests of the shim; the test waits meanwhile ---------------------------- */

static void remove_in_use(void)
{
	int ret = driver_unload(run.driver);

	if (!ret)
		report_finding("unload-in-use", "%s could be removed while the test had its device open",
			       run.driver->name);
	if (ret == -ETIMEDOUT)
		report_finding("hang", "removing %s while it was in use does not end", run.driver->name);
	if (ret == -ETIMEDOUT || ret == -EFAULT)
		die();
}

/* Unbinding may wait until the test closes its files. Then end_unbinding() waits for the unbinding child. */
static bool unbind(void)
{
	pid_t pid;

	if (!driver_is_bound(run.driver))
		return false;
	pid = driver_unbind(run.driver);
	if (pid > 0 && child_wait(pid, UNBIND_SOON_MS) == -ETIMEDOUT)
		run.tests.spared = pid;
	return true;
}

static bool answer(enum share_ask ask)
{
	if (ask == SHARE_ASK_RMMOD)
		remove_in_use();
	if (ask == SHARE_ASK_UNBIND)
		return unbind();
	if (ask == SHARE_ASK_CLOSED)
		leftover_at_close(run.driver, run.tests.at[0].share);
	return true;
}

static void end_unbinding(void)
{
	if (!run.tests.spared || child_wait(run.tests.spared, UNBIND_MS) != -ETIMEDOUT)
		return;
	report_finding("hang", "unbinding %s from its device does not end", run.driver->name);
	die();
}

/* ---- events -------------------------------------------------------------------- */

static void tell_kernel_events(void)
{
	static struct emugpu_event events[EMULATOR_EVENTS_MAX];
	uint32_t i, nr;

	if (emulator_events(events, &nr))
		return;
	for (i = 0; i < nr && i < EMULATOR_EVENTS_MAX; i++)
		report_line("event", "kernel %u %s by %.48s", i + 1, emulator_event_name(events[i].kind),
			    events[i].module);
}

static void tell_user_events(const struct share *share)
{
	uint32_t i;

	for (i = 0; i < share->count && i < SHARE_EVENTS_MAX; i++)
		report_line("event", "user %u %s in %u us", i + 1, share->events[i], share->took[i]);
}

/* ---- whether the planned event or failure has happened -------------------------- */

static uint32_t count_events(bool (*is)(uint32_t kind), uint32_t *out_all)
{
	static struct emugpu_event events[EMULATOR_EVENTS_MAX];
	uint32_t i, count = 0;

	if (emulator_events(events, out_all))
		*out_all = 0;
	for (i = 0; i < *out_all && i < EMULATOR_EVENTS_MAX; i++)
		count += is(events[i].kind);
	return count;
}

static bool is_pin(uint32_t kind)
{
	return kind == EMUGPU_EVENT_PIN || kind == EMUGPU_EVENT_PIN_PERSISTENT;
}

static bool kernel_event_came(void)
{
	uint32_t all;

	count_events(is_pin, &all);
	return all >= run.scenario->kernel_nth;
}

/* Does not call the emulator if a process hangs in the kernel: the call may hang, too. */
static bool fault_came(enum plan_fail fail)
{
	return run.dead || emulator_has_failed(fail);
}

static bool allocation_failed(void)
{
	bool failed;

	return !allocator_failed(&failed) && failed;
}

static bool has_fired(void)
{
	const struct scenario *s = run.scenario;

	return (s->kernel_nth && kernel_event_came()) || (s->user_nth && run.tests.at[0].share->fired) ||
	       (s->fail && fault_came(s->fail)) || (s->alloc && allocation_failed());
}

/* ---- the driver, with and without the test ------------------------------------- */

static int set_share(struct share *share)
{
	share->nth = run.scenario->user_nth;
	share->action = run.scenario->user_action;
	share->usec = run.scenario->user_usec;
	driver_devices_after(share);
	return adapter_make(share, run.scenario->register_ms);
}

static int run_tests(char **argv)
{
	int ret = tests_open(&run.tests, run.scenario->copies);

	if (ret)
		return ret;
	run.tests.answer = answer;
	ret = set_share(run.tests.at[0].share);
	if (ret)
		return ret;
	ret = tests_run(&run.tests, run.scenario, argv);
	/* if remove_in_use() timed out, the hang is reported already */
	run.tests.child_stuck &= !run.dead;
	if (run.tests.stuck)
		die();
	end_unbinding();
	return ret;
}

static int judge_tests(void)
{
	const struct scenario *s = run.scenario;
	bool armed = s->kernel_nth || s->user_nth || s->fail || s->alloc;
	bool fired = armed && has_fired();

	allocations_are_over |= s->alloc && !fired;
	if (s->record) {
		tell_user_events(run.tests.at[0].share);
		tell_kernel_events();
	}
	verdict_tests(s, &run.tests, fired);
	if (armed)
		report_line("fired", "%s", fired && !run.tests.at[0].share->missed ? "yes" : "no");
	if (armed && !run.dead)
		trial_tell_revoked(run.tests.at[0].share);
	if (run.tests.at[0].share->changed)
		report_finding("foreign-handle", "another process that opened the device itself wrote %u pages of the test",
			       run.tests.at[0].share->changed);
	return armed ? 0 : trial_tell(run.driver, run.tests.at[0].share, s->bar1 && !run.dead);
}

static void unload(void)
{
	const char *name = run.driver->name;
	int ret = driver_unload_patiently(run.driver);

	if (!ret || ret == -ENOENT)
		return;
	if (ret == -EWOULDBLOCK)
		report_finding("cannot-unload", "%s is still in use after the test has ended", name);
	else if (ret == -ETIMEDOUT)
		report_finding("hang", "removing %s does not end", name);
	else if (ret != -EFAULT)
		report_finding("cannot-unload", "%s cannot be removed: %s", name, strerror(-ret));
	die();
}

static int judge_leftovers(void)
{
	int ret = leftover_pins();

	if (!ret)
		unload();
	if (ret || run.dead)
		return ret;
	leftover_uses();
	leftover_damage();
	ret = leftover_misuse();
	return ret ? ret : leftover_memory();
}

static int look_at_damage(const void *unused)
{
	(void)unused;
	leftover_damage();
	return 0;
}

/* A process may hang because it read freed memory. Look for the damage in a child, which may hang, too. */
static int judge_dead(void)
{
	child_call(look_at_damage, NULL, DAMAGE_MS);
	return 0;
}

static int cannot_begin(void)
{
	kmsg_judge();
	fprintf(stderr, "judge: the test could not be run: exit status %d; output: %s\n", run.tests.at[0].value,
		tests_output());
	return -ENOEXEC;
}

static int run_loaded(char **argv)
{
	int ret = run_tests(argv);

	if (ret)
		return ret;
	if (tests_not_begun(&run.tests))
		return cannot_begin();
	ret = judge_tests();
	tests_close(&run.tests);
	if (ret)
		return ret;
	return run.dead ? judge_dead() : judge_leftovers();
}

/* The module was built for another kernel, or needs symbols that this kernel lacks. */
static int not_fit(int error)
{
	kmsg_judge();
	fprintf(stderr, "judge: %s does not fit this kernel: %s\n", run.driver->file, kmsg_last());
	return error;
}

static bool is_fit(void)
{
	bool began;

	return allocator_began(&began) || began;
}

/* The kernel refuses modules that use both symbols of a proprietary module and symbols for GPL modules only. */
static int refused(void)
{
	kmsg_judge();
	report_line("refused", "%s", kmsg_last());
	return 0;
}

/* A driver may refuse to load if one of its allocations was made to fail. */
static int not_loaded(int error)
{
	bool allowed = run.scenario->alloc && allocation_failed();

	if (error != -ETIMEDOUT && error != -EFAULT && !is_fit())
		return run.scenario->may_refuse ? refused() : not_fit(error);
	if (run.scenario->alloc)
		report_line("fired", "%s", allowed ? "yes" : "no");
	if (error == -ETIMEDOUT)
		report_finding("hang", "loading %s does not end", run.driver->name);
	else if (!allowed)
		report_finding("test-failed", "%s cannot be loaded: %s", run.driver->file, strerror(-error));
	if (error == -ETIMEDOUT || error == -EFAULT) {
		die();
		return 0;
	}
	leftover_damage();
	return leftover_memory();
}

static int prepare(void)
{
	int ret = violations_read(&run.before);

	if (!ret)
		ret = kmsg_mark();
	if (!ret)
		ret = emulator_set(run.scenario);
	if (!ret)
		ret = allocator_watch(run.driver->name, run.scenario->alloc);
	if (!ret)
		ret = trial_begin();
	leftover_note_uses();
	driver_devices_before();
	return ret;
}

static int judge_rest(void)
{
	int ret = verdict_violations(&run.before, run.driver);

	kmsg_judge();
	if (!ret && !run.dead)
		ret = emulator_reset();
	if (report_findings())
		kmsg_tell();
	return ret;
}

/* Returns 0, -ENODATA if judge.ko missed allocations (try again), or -errno if the scenario could not be judged. */
static int run_once(const struct scenario *scenario, const struct driver *driver, char **test)
{
	int ret, rest;

	run = (struct run){ .scenario = scenario, .driver = driver };
	report_begin(scenario->id);
	ret = prepare();
	if (ret)
		return ret;
	ret = driver_load(driver);
	ret = ret ? not_loaded(ret) : run_loaded(test);
	if (ret && ret != -ENODATA)
		return ret;
	rest = judge_rest();
	return rest ? rest : ret;
}

/* judge.ko may miss an allocation. If there are no findings, retry; the host counts only the last try. */
int scenario_run(const struct scenario *scenario, const struct driver *driver, char **test)
{
	int tries = 0, ret;

	if (scenario->alloc && allocations_are_over) {
		report_skip(scenario->id);
		return 0;
	}
	do
		ret = run_once(scenario, driver, test);
	while (ret == -ENODATA && !report_findings() && !run.dead && ++tries < TRIES);
	return ret && ret != -ENODATA ? ret : report_end();
}
